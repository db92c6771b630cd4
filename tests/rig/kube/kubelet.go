// A kubelet without containers: it lets the API server's port-forward and logs reach processes and files of this machine.
//
// Which pod's port leads where is told by a JSON file that is read anew at each request:
//
//	{"<namespace>/<pod>": {"ports": {"15000": "127.0.0.1:41234"}, "log": "/path/of/a/file"}}
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
)

// How long a forwarded connection may be silent, and a client may take to open its streams.
const (
	idleTimeout   = time.Hour
	streamTimeout = 30 * time.Second
)

// How often a file is looked at for new lines.
const followInterval = 50 * time.Millisecond

// What stands behind one pod.
type pod struct {
	Ports map[string]string `json:"ports"`
	Log   string            `json:"log"`
}

type kubelet struct {
	pods string
}

func newKubeletCommand() *cobra.Command {
	var address, pods string
	command := &cobra.Command{
		Use:          "kubelet --address HOST:PORT --pods FILE",
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			return serve(address, kubelet{pods: pods})
		},
	}
	command.Flags().StringVar(&address, "address", "", "where to listen")
	command.Flags().StringVar(&pods, "pods", "", "the JSON file that says what stands behind each pod")
	return command
}

func serve(address string, k kubelet) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return err
	}
	certificateFile, err := keep("tls.crt", k.pods, certificate)
	if err != nil {
		return err
	}
	keyFile, err := keep("tls.key", k.pods, key)
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	routes.HandleFunc("/portForward/{namespace}/{pod}", k.portForward)
	routes.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.logs)
	return http.ListenAndServeTLS(address, certificateFile, keyFile, routes)
}

// Writes a file beside the pods' file.
func keep(name, pods string, content []byte) (string, error) {
	path := filepath.Join(filepath.Dir(pods), "kubelet-"+name)
	return path, os.WriteFile(path, content, 0o600)
}

func (k kubelet) find(namespace, name string) (pod, error) {
	text, err := os.ReadFile(k.pods)
	if err != nil {
		return pod{}, err
	}
	all := map[string]pod{}
	if err := json.Unmarshal(text, &all); err != nil {
		return pod{}, fmt.Errorf("%s: %w", k.pods, err)
	}
	found, ok := all[namespace+"/"+name]
	if !ok {
		return pod{}, fmt.Errorf("no process stands behind pod %s/%s", namespace, name)
	}
	return found, nil
}

func (k kubelet) portForward(w http.ResponseWriter, request *http.Request) {
	found, err := k.find(request.PathValue("namespace"), request.PathValue("pod"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	options, err := portforward.NewV4Options(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, request, found, request.PathValue("pod"), "", options,
		idleTimeout, streamTimeout, portforward.SupportedProtocols)
}

// PortForward copies between a client's stream and the process behind a port.
func (p pod) PortForward(_ context.Context, name string, _ types.UID, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	address, ok := p.Ports[strconv.Itoa(int(port))]
	if !ok {
		return fmt.Errorf("nothing listens on port %d of pod %s", port, name)
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		_, _ = io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, connection)
	return err
}

func (k kubelet) logs(w http.ResponseWriter, request *http.Request) {
	found, err := k.find(request.PathValue("namespace"), request.PathValue("pod"))
	if err == nil && found.Log == "" {
		err = fmt.Errorf("pod %s has no log", request.PathValue("pod"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	file, err := os.Open(found.Log)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	shown := string(text)
	if lines, err := strconv.Atoi(request.FormValue("tailLines")); err == nil {
		shown = tail(shown, lines)
	}
	fmt.Fprint(w, shown)
	if request.FormValue("follow") != "true" {
		return
	}
	flush := http.NewResponseController(w).Flush
	for request.Context().Err() == nil && flush() == nil {
		time.Sleep(followInterval)
		if _, err := io.Copy(w, file); err != nil {
			return
		}
	}
}

// The last lines of a text.
func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// Reads the module's image as Istio does: pushes an image layout to a registry on loopback, pulls it with Istio's own code,
// and compares what arrives with the module.
//
//	image LAYOUT MODULE.wasm
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"istio.io/istio/pkg/wasm"
)

const (
	tagName  = "org.opencontainers.image.ref.name"
	bill     = "application/vnd.cyclonedx+json"
	patience = 10 * time.Second
)

// An image that was pushed under a name.
type pushed struct {
	tag    name.Tag
	digest name.Digest
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: image LAYOUT MODULE.wasm")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(folder, file string) error {
	module, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	silent := registry.Logger(log.New(io.Discard, "", 0))
	server := httptest.NewServer(registry.New(silent, registry.WithReferrersSupport(true)))
	defer server.Close()
	repository, err := name.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/kubectl-mirror")
	if err != nil {
		return err
	}
	images, err := push(folder, repository)
	if err != nil {
		return err
	}
	if len(images) != 2 {
		return fmt.Errorf("the layout names %d images instead of 2", len(images))
	}
	for _, image := range images {
		for _, reference := range []name.Reference{image.tag, image.digest} {
			if err := pull(reference, image.digest, module); err != nil {
				return fmt.Errorf("%s: %w", reference, err)
			}
		}
		if err := checkBill(image.digest, module); err != nil {
			return fmt.Errorf("the bill of materials of %s: %w", image.tag, err)
		}
		fmt.Printf("Istio pulls %s and @%s: the module\n", image.tag.TagStr(), image.digest.DigestStr())
	}
	return nil
}

// Pushes all that a layout names.
func push(folder string, repository name.Repository) ([]pushed, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var images []pushed
	for _, entry := range manifest.Manifests {
		image, err := index.Image(entry.Digest)
		if err != nil {
			return nil, err
		}
		digest := repository.Digest(entry.Digest.String())
		if err := remote.Write(digest, image); err != nil {
			return nil, err
		}
		if tag, named := entry.Annotations[tagName]; named {
			reference := pushed{repository.Tag(tag), digest}
			if err := remote.Tag(reference.tag, image); err != nil {
				return nil, err
			}
			images = append(images, reference)
		}
	}
	return images, nil
}

// Pulls a reference as Istio's agent does for a WasmPlugin.
func pull(reference name.Reference, digest name.Digest, module []byte) error {
	folder, err := os.MkdirTemp("", "kubectl-mirror-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cache := wasm.NewLocalFileCache(folder, wasm.Options{})
	defer cache.Cleanup()
	options := wasm.GetOptions{
		Checksum:       strings.TrimPrefix(digest.DigestStr(), "sha256:"),
		RequestTimeout: patience,
		// Else whoever runs this is logged in with what their Docker has.
		PullSecret: []byte("{}"),
	}
	file, err := cache.Get("oci://"+reference.Name(), options)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, module) {
		return fmt.Errorf("what Istio pulls (%d bytes) is not the module (%d bytes)", len(got), len(module))
	}
	return nil
}

// Finds the bill of materials by the image's digest, and holds it against the module.
func checkBill(digest name.Digest, module []byte) error {
	index, err := remote.Referrers(digest)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if len(manifest.Manifests) != 1 {
		return fmt.Errorf("%d are attached instead of 1", len(manifest.Manifests))
	}
	image, err := remote.Image(digest.Context().Digest(manifest.Manifests[0].Digest.String()))
	if err != nil {
		return err
	}
	attached, err := image.Manifest()
	if err != nil {
		return err
	}
	// Asked of the manifest itself, since this registry lists the type of its configuration in its place.
	if attached.ArtifactType != bill {
		return fmt.Errorf("is of type %q", attached.ArtifactType)
	}
	text, err := firstLayer(image)
	if err != nil {
		return err
	}
	var found struct {
		BomFormat string
		Metadata  struct {
			Component struct{ Hashes []struct{ Content string } }
		}
		// Only that there are any: the plugin's own tests look into them.
		Components []json.RawMessage
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return err
	}
	sum := sha256.Sum256(module)
	hashes := found.Metadata.Component.Hashes
	if found.BomFormat != "CycloneDX" || len(found.Components) == 0 || len(hashes) != 1 {
		return errors.New("is none of CycloneDX")
	}
	if hashes[0].Content != hex.EncodeToString(sum[:]) {
		return errors.New("is of another module")
	}
	return nil
}

func firstLayer(image v1.Image) ([]byte, error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) == 0 {
		return nil, errors.New("has no layer")
	}
	content, err := layers[0].Compressed()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

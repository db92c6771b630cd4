//! The observer: any sequence of callbacks, with any headers and bodies, in any order. Nothing panics, and the pairs that
//! were counted never exceed the requests that came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror_core::config::{Caps, Mirror, Rules, Sampling, Target, VERSION};
use mirror_core::headers::HeaderBlock;
use mirror_core::observer::{Admission, Facts, Observer, Output, Ticket};
use mirror_core::stats::names::Metric;

struct Host {
    connection: bool,
    config: Option<String>,
    carried: bool,
    pairs: u64,
}

impl Facts for Host {
    fn has_connection(&mut self) -> bool {
        self.connection
    }

    fn mirror_config(&mut self) -> Option<Vec<u8>> {
        self.config.clone().map(String::into_bytes)
    }

    fn route_name(&mut self) -> Option<Vec<u8>> {
        self.carried.then(|| b"kubectl-mirror:fuzz/fuzz".to_vec())
    }

    fn route_origin(&mut self) -> Option<Vec<u8>> {
        self.carried.then(|| b"/apis/networking.istio.io/v1/namespaces/fuzz/virtual-service/fuzz".to_vec())
    }

    fn cluster(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn is_from_upstream(&mut self) -> bool {
        true
    }
}

impl Output for Host {
    fn count(&mut self, name: &str, n: u64) {
        if let Some(Metric::Pairs { .. }) = Metric::decode(name) {
            self.pairs += n;
        }
    }

    fn log(&mut self, line: &str) {
        assert!(!line.contains('\n'));
    }
}

fn mirror(choice: u8) -> Mirror {
    let target = |cluster: &str| Target { cluster: cluster.into(), knative: None };
    Mirror {
        version: VERSION,
        name: "fuzz/fuzz".into(),
        candidate: target("candidate"),
        secondary: (choice & 1 != 0).then(|| target("secondary")),
        hosts: vec!["h".into()],
        methods: vec!["GET".into()],
        sampling: if choice & 2 != 0 { Sampling::Envoy } else { Sampling::Selector },
        split: choice & 4 != 0,
        rules: Rules::default(),
        caps: Caps { pairs: 8, pair_bytes: 20_000, body_bytes: 1000, pair_ttl_ms: 1000, ..Caps::default() },
    }
}

fuzz_target!(|input: (u8, Vec<(u8, u8, &[u8])>)| {
    let (choice, steps) = input;
    let mirror = mirror(choice);
    let json = mirror.to_json();
    let mark = format!("{}/{}", mirror.name, mirror.fingerprint());
    let mut host = Host { connection: true, config: None, carried: false, pairs: 0 };
    let mut observer = Observer::new(u64::from(choice));
    let mut tickets: Vec<Ticket> = Vec::new();
    let (mut now, mut requests) = (0_u64, 0_u64);

    for (what, which, bytes) in steps {
        now = now.wrapping_add(u64::from(which) * 10_000_000);
        let ticket = tickets.get(usize::from(which) % tickets.len().max(1)).copied();
        match (what % 9, ticket) {
            (0 | 1, _) => {
                requests += 1;
                let shadow = what % 9 == 1;
                host.connection = !shadow;
                host.config = (!shadow && which & 64 == 0).then(|| json.clone());
                host.carried = !shadow && which & 32 == 0;
                let id = [which % 8];
                let role: &[u8] = if which & 128 == 0 { b"shadow" } else { b"secondary" };
                let mut headers: Vec<(&[u8], &[u8])> = vec![
                    (b":method", b"GET"),
                    (b":path", bytes),
                    (b"x-mirror", mark.as_bytes()),
                    (b"x-mirror-pair", &id),
                    (b"x-request-id", &id),
                ];
                if host.carried {
                    headers.push((b"x-mirror-config", if which & 16 == 0 { json.as_bytes() } else { bytes }));
                }
                if shadow {
                    headers.push((b"x-mirror-role", role));
                }
                if let Admission::Observe { ticket, .. } =
                    observer.on_request(now, HeaderBlock::from_pairs(&headers), &mut host)
                {
                    tickets.push(ticket);
                }
            }
            (2, Some(ticket)) => {
                let status = [b'2', b'0', b'0' + which % 10];
                let headers: [(&[u8], &[u8]); 2] = [(b":status", &status), (b"content-type", bytes)];
                observer.on_response_headers(ticket, HeaderBlock::from_pairs(&headers), &mut host);
            }
            (3, Some(ticket)) => {
                if observer.wants_body(ticket, bytes.len()) {
                    observer.on_body(ticket, bytes);
                }
            }
            (4, Some(ticket)) => observer.on_trailers(ticket, HeaderBlock::from_pairs(&[("x-t", bytes)])),
            (5, Some(ticket)) => observer.on_complete(now, ticket, &mut host),
            (6, Some(ticket)) => observer.on_gone(now, ticket, &mut host),
            (7, _) => observer.on_tick(now),
            (8, Some(ticket)) if which & 1 == 0 => observer.on_body_lost(ticket),
            _ => observer.flush(now, &mut host),
        }
    }
    observer.on_tick(now);
    observer.on_tick(now.saturating_add(10_000_000_000));
    observer.flush(now, &mut host);
    assert!(host.pairs <= requests, "{} pairs of {requests} requests", host.pairs);
});

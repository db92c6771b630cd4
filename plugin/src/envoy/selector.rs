//! The selector: a small Lua script, run before anything is copied, that decides which requests are.
//!
//! It first removes every mark that the client sent, so that only this script can mark a request. A request that it
//! selects gets the mirror's name, an id that all streams of the pair share, and for each target the cluster that the
//! mirror policy copies to. No step can fail: an error in it would leave a client's marks in place.

use mirror_core::config::{PathMatch, Selection, ValueMatch, WHOLE};
use serde_json::{Value, json};

use super::lua::{quoted, set};
use super::{MirrorSpec, SELECT, mark, type_url};

/// The selector as it stands in the chain of a listener: disabled, until a route switches it on.
pub fn filter() -> Value {
    json!({
        "name": SELECT,
        "disabled": true,
        "typed_config": { "@type": type_url("envoy.extensions.filters.http.lua.v3.Lua") },
    })
}

/// The entry of the route's `typed_per_filter_config` that switches the selector on.
pub fn per_route(spec: &MirrorSpec) -> Value {
    json!({
        SELECT: {
            "@type": type_url("envoy.config.route.v3.FilterConfig"),
            "config": {
                "@type": type_url("envoy.extensions.filters.http.lua.v3.LuaPerRoute"),
                "source_code": { "inline_string": script(spec) },
            },
        },
    })
}

/// The script.
pub fn script(spec: &MirrorSpec) -> String {
    let mirror = &spec.mirror;
    let (to, also) = (spec.selection.candidate_header(), spec.selection.secondary_header());
    let mut lines = vec![
        format!("-- Which requests of the mirror {} are copied. Written by kubectl-mirror.", mirror.name),
        format!("local methods = {}", set(&mirror.methods)),
    ];
    if let Some(hosts) = hosts(spec) {
        lines.push(format!("local hosts = {}", set(hosts)));
    }
    lines.push(HASH.to_owned());
    lines.push("function envoy_on_request(handle)".to_owned());
    lines.push("  local headers = handle:headers()".to_owned());
    for header in [mark::MIRROR, mark::ROLE, mark::PAIR, mark::CONFIG, &to, &also] {
        lines.push(format!("  headers:remove({})", quoted(header)));
    }
    lines.extend(conditions(spec));
    lines.extend(sample(spec));
    lines.push("  count = (count + 1) % 4294967296".to_owned());
    let mut set_mark = |header: &str, value: &str| {
        lines.push(format!("  headers:replace({}, {value})", quoted(header)));
    };
    set_mark(mark::MIRROR, &quoted(&format!("{}/{}", mirror.name, mirror.fingerprint())));
    // A client may send an id of any length: a part of it is as good.
    set_mark(mark::PAIR, r#"string.format("%.0f-", count) .. string.sub(headers:get("x-request-id") or "", 1, 64)"#);
    set_mark(&to, &quoted(&mirror.candidate.cluster));
    if let Some(secondary) = &mirror.secondary {
        set_mark(&also, &quoted(&secondary.cluster));
    }
    lines.push("end\n".to_owned());
    lines.join("\n")
}

/// A hash for sampling, and the number of the last pair. A script begins to count where no script before it is likely
/// to be, so that one of its pairs and one of its predecessor's that is still open are not taken for each other.
///
/// The multiplier keeps every product below 2^53, up to which Lua's numbers are exact. The two last rounds spread keys
/// that differ in their last characters only.
const HASH: &str = r#"local function hash(text)
  local h = 5381
  for i = 1, #text do h = (h * 1664525 + string.byte(text, i)) % 4294967291 end
  for _ = 1, 2 do h = (h * 1664525 + 1013904223) % 4294967291 end
  return h
end
local count = hash(os.time() .. tostring({}))"#;

/// The hosts, lower case; `None` where any will do.
fn hosts(spec: &MirrorSpec) -> Option<Vec<String>> {
    let hosts = &spec.mirror.hosts;
    let any = hosts.iter().any(|host| host == "*");
    (!any).then(|| hosts.iter().map(|host| host.to_ascii_lowercase()).collect())
}

/// Lines that end the script where a request is not to be copied.
fn conditions(spec: &MirrorSpec) -> Vec<String> {
    let unless = |condition: &str| format!("  if {condition} then return end");
    let mut lines: Vec<_> = spec.selection.expires.iter().map(|end| unless(&format!("os.time() >= {end}"))).collect();
    lines.push(unless(r#"not methods[headers:get(":method")]"#));
    if hosts(spec).is_some() {
        lines.push(r#"  local host = string.gsub(headers:get(":authority") or "", ":%d+$", "")"#.to_owned());
        lines.push(unless("not hosts[string.lower(host)]"));
    }
    lines.push(unless(r#"headers:get("k-network-probe") or headers:get("k-network-hash")"#));
    // Envoy does not copy upgrades: marked, they would count as pairs that never got their shadow.
    lines.push(unless(r#"headers:get("upgrade")"#));
    let paths = &spec.selection.paths;
    if !paths.is_empty() {
        let hits: Vec<_> = paths
            .iter()
            .map(|path| match path {
                PathMatch::Exact(text) => format!("path == {}", quoted(text)),
                PathMatch::Prefix(text) => begins("path", text),
            })
            .collect();
        lines.push(r#"  local path = string.gsub(headers:get(":path") or "", "%?.*", "")"#.to_owned());
        lines.push(unless(&format!("not ({})", hits.join(" or "))));
    }
    for header in &spec.selection.headers {
        let value = format!("headers:get({})", quoted(&header.name));
        lines.push(unless(&match &header.value {
            ValueMatch::Present => format!("not {value}"),
            ValueMatch::Exact(text) => format!("{value} ~= {}", quoted(text)),
            ValueMatch::Prefix(text) => format!("not ({value} and {})", begins(&value, text)),
        }));
    }
    lines
}

/// Lines that end the script where a request is not in the sample. The mirror's name is hashed too, so that mirrors of
/// equal shares do not pick the same users.
fn sample(spec: &MirrorSpec) -> Vec<String> {
    let Selection { millionths, sticky, .. } = &spec.selection;
    if *millionths == WHOLE && sticky.is_none() {
        return Vec::new();
    }
    let key = quoted(sticky.as_deref().unwrap_or("x-request-id"));
    let salt = quoted(&format!("{}/", spec.mirror.name));
    vec![
        format!("  local key = headers:get({key})"),
        format!("  if not key or hash({salt} .. key) % {WHOLE} >= {millionths} then return end"),
    ]
}

fn begins(expression: &str, text: &str) -> String {
    format!("string.sub({expression}, 1, {}) == {}", text.len(), quoted(text))
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use mirror_core::selection::draw;

    use super::super::fixture;
    use super::*;

    #[test]
    fn the_script_of_a_full_mirror() {
        insta::assert_snapshot!(script(&fixture::full()));
    }

    #[test]
    fn the_script_of_the_smallest_mirror() {
        insta::assert_snapshot!(script(&fixture::smallest()));
    }

    #[test]
    fn filter_and_route_entry() {
        let mut spec = fixture::smallest();
        spec.selection.millionths = 1;
        insta::assert_json_snapshot!([filter(), per_route(&spec)]);
    }

    #[test]
    fn nothing_that_users_write_leaves_its_literal() {
        let evil = "\"]; os.execute('x') --\n\\";
        let mut spec = fixture::full();
        spec.mirror.hosts = vec![evil.into()];
        spec.mirror.methods = vec![evil.into()];
        spec.mirror.candidate.cluster = evil.into();
        spec.selection.headers = vec![format!("{evil}={evil}*").parse().expect("never fails")];
        spec.selection.paths = vec![format!("/{evil}*").parse().expect("never fails")];
        spec.selection.sticky = Some(evil.into());
        let script = script(&spec);
        // Outside literals, the words above can stand nowhere.
        let bare: String = script.split('"').step_by(2).collect();
        assert!(script.contains("os.execute") && !bare.contains("execute"), "{script}");
        assert_eq!(script.matches('"').count() % 2, 0);
    }

    #[test]
    fn every_kind_of_key_is_sampled_evenly() {
        // 32 classes, 31 degrees of freedom: chi-squared stays below 72 with a probability of 0.99995. The random keys
        // are drawn anew in each run, the others are always the same.
        const KEYS: u64 = 64_000;
        let random = RandomState::new();
        let uuid = |i: u64| {
            let (a, b) = (random.hash_one(i), random.hash_one(!i));
            format!(
                "{:08x}-{:04x}-4{:03x}-9{:03x}-{:012x}",
                a >> 32,
                a as u16,
                b as u16 & 0xfff,
                b >> 52,
                b >> 4 & 0xffff_ffff_ffff
            )
        };
        type Key<'a> = &'a dyn Fn(u64) -> String;
        let kinds: [(&str, Key<'_>, f64); 4] = [
            ("uuid", &uuid, 90.0),
            ("number", &|i| i.to_string(), 72.0),
            ("user", &|i| format!("user-{i}@example.com"), 72.0),
            ("padded", &|i| format!("{i:010}"), 72.0),
        ];
        for (kind, key, most) in kinds {
            let mut classes = [0_u32; 32];
            for i in 0..KEYS {
                // What `HASH` computes.
                let sampled = draw(format!("default/hello/{}", key(i)).bytes());
                classes[usize::try_from(sampled * 32 / u64::from(WHOLE)).expect("below 32")] += 1;
            }
            let expected = KEYS as f64 / 32.0;
            let chi: f64 = classes.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
            assert!(chi < most, "{kind}: {chi} {classes:?}");
        }
    }
}

//! A mirror, resolved: what was asked for, the Route as it is, and the revisions that copies go to. All objects of the
//! mirror are made from it.

use mirror_core::config::{Caps, ConfigError, Mirror, Sampling, VERSION};

use super::{Refusal, Source, Target, target};
use crate::envoy::{MirrorSpec, Selection};
use crate::intent::{Intent, MirrorName, Strategy};
use crate::istio::Workload;

/// A mirror, resolved and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: MirrorName,
    /// What was asked for.
    pub intent: Intent,
    /// The Route that is mirrored.
    pub source: Source,
    /// Where the copies go.
    pub candidate: Target,
    /// Where second copies go.
    pub secondary: Option<Target>,
    /// Hex digits in the names of headers that clients must not know.
    pub token: String,
}

impl Plan {
    /// The mirror that `intent` comes to. The candidate is what [`target::candidate`] resolved.
    ///
    /// # Errors
    /// Calls that cannot come in, a second copy with nowhere to go, wishes that the strategy cannot fulfil, and values
    /// that make no sense, by their option.
    pub fn new(intent: Intent, source: Source, candidate: Target) -> Result<Self, Refusal> {
        target::check_through(&source, intent.through)?;
        let name = source.mirror_name();
        let secondary =
            match intent.secondary {
                false => None,
                true => Some(target::secondary(&source, &candidate).ok_or_else(|| Refusal::NoSecondary {
                    route: name.clone(),
                    revision: candidate.revision.clone(),
                })?),
            };
        let token = token(source.uid.as_deref());
        let plan = Self { name, intent, source, candidate, secondary, token };
        plan.check_strategy()?;
        plan.spec().check().map_err(|ConfigError { path, reason }| Refusal::Value { option: option(&path), reason })?;
        Ok(plan)
    }

    /// The mirror as Envoy has to be told of it.
    pub fn spec(&self) -> MirrorSpec {
        let intent = &self.intent;
        let in_waypoint = intent.waypoint.is_some();
        let mirror = Mirror {
            version: VERSION,
            name: self.name.to_string(),
            candidate: self.candidate.config(in_waypoint),
            secondary: self.secondary.as_ref().map(|target| target.config(in_waypoint)),
            hosts: self.source.hosts(intent.through),
            methods: intent.methods.clone(),
            sampling: match intent.strategy {
                Strategy::Overlay | Strategy::WasmPlugin => Sampling::Selector,
                Strategy::VirtualService => Sampling::Envoy,
            },
            // A rollout may send users to the candidate at any time, without the mirror being written anew.
            split: true,
            rules: intent.rules.clone(),
            caps: Caps::default(),
        };
        let selection = Selection {
            millionths: intent.millionths,
            sticky: intent.sticky.as_deref().map(str::to_ascii_lowercase),
            headers: intent.headers.iter().map(|text| never_fails(text.parse())).collect(),
            paths: intent.paths.iter().map(|text| never_fails(text.parse())).collect(),
            expires: intent.expires,
            token: self.token.clone(),
        };
        MirrorSpec { mirror, selection, candidate_host: None, secondary_host: None }
    }

    /// The pods of the waypoint that it is put into, where it is one.
    pub fn waypoint(&self) -> Option<Workload> {
        self.intent.waypoint.as_ref().map(|waypoint| waypoint.workload(&self.name.namespace))
    }

    /// The services that copies go to, as Istio's annotation `referenced-services` lists them.
    pub fn referenced_services(&self) -> String {
        let targets = [Some(&self.candidate), self.secondary.as_ref()];
        targets.into_iter().flatten().map(Target::reference).collect::<Vec<_>>().join(",")
    }

    fn check_strategy(&self) -> Result<(), Refusal> {
        let Intent { strategy, waypoint, expires, sticky, .. } = &self.intent;
        if waypoint.is_some() && *strategy != Strategy::WasmPlugin {
            return Err(Refusal::OtherStrategy {
                option: "--waypoint",
                strategies: "wasmplugin",
                reason: "what the other strategies write reaches gateways only",
            });
        }
        if *strategy != Strategy::VirtualService {
            return Ok(());
        }
        let refuse =
            |option, reason| Err(Refusal::OtherStrategy { option, strategies: "overlay or wasmplugin", reason });
        if expires.is_some() {
            return refuse("--for", "a VirtualService cannot read the clock");
        }
        if sticky.is_some() {
            return refuse("--sticky", "with a VirtualService, Envoy draws the sample by itself");
        }
        Ok(())
    }
}

fn never_fails<T>(parsed: Result<T, std::convert::Infallible>) -> T {
    match parsed {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// The option that a path into the mirror's configuration comes from.
fn option(path: &str) -> String {
    let first = path.split(['[', '.']).next().unwrap_or(path);
    match first {
        "headers" => "header",
        "paths" => "path",
        "millionths" => "percent",
        "expires" => "for",
        other => other,
    }
    .to_owned()
}

/// 16 hex digits of a unique id, so that a mirror that is written anew looks the same. An id that has not as many is no
/// UUID, and may be guessed: then they are random.
fn token(uid: Option<&str>) -> String {
    let digits = uid.unwrap_or_default().chars().filter(char::is_ascii_hexdigit).take(16);
    let token: String = digits.map(|digit| digit.to_ascii_lowercase()).collect();
    if token.len() == 16 { token } else { Selection::everything().token }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::intent::Through;

    fn refused(shape: &str, intent: Intent) -> String {
        let source = testing::source(shape);
        let candidate = target::candidate(&source, &intent.to, target::Known::default()).expect("a good target");
        Plan::new(intent, source, candidate).expect_err("a refusal").to_string()
    }

    #[test]
    fn wishes_that_cannot_be_fulfilled() {
        let wish = |strategy| testing::intent("next", strategy);
        let by_service = || wish(Strategy::VirtualService);
        let refused = [
            refused("tagged", Intent { expires: Some(1_767_225_600), ..by_service() }),
            refused("tagged", Intent { sticky: Some("x-user".into()), ..by_service() }),
            refused("tagged", Intent { waypoint: "waypoint".parse().ok(), ..by_service() }),
            refused("tagged", Intent { waypoint: "waypoint".parse().ok(), ..wish(Strategy::Overlay) }),
            refused("tagged", Intent { millionths: 0, ..wish(Strategy::Overlay) }),
            refused("tagged", Intent { methods: vec!["get".into()], ..wish(Strategy::Overlay) }),
            refused("tagged", Intent { headers: vec!["a b=1".into()], ..wish(Strategy::Overlay) }),
            refused("tagged", Intent { paths: vec!["v1".into()], ..wish(Strategy::Overlay) }),
            refused("local", testing::intent("v2", Strategy::Overlay)),
        ];
        insta::assert_snapshot!(refused.join("\n"));
    }

    #[test]
    fn the_second_copy_goes_to_the_primary() {
        let wish = Intent { secondary: true, ..testing::intent("canary", Strategy::Overlay) };
        let plan = testing::plan("split", wish);
        assert_eq!(plan.secondary.as_ref().map(|target| target.revision.as_str()), Some("pay-blue"));
        let services = "store/pay-green.store.svc.cluster.local,store/pay-blue.store.svc.cluster.local";
        assert_eq!(plan.referenced_services(), services);
    }

    #[test]
    fn who_draws_the_sample_follows_the_strategy() {
        let sampling = |strategy| testing::plan("tagged", testing::intent("next", strategy)).spec().mirror.sampling;
        assert_eq!(sampling(Strategy::Overlay), Sampling::Selector);
        assert_eq!(sampling(Strategy::VirtualService), Sampling::Envoy);
    }

    #[test]
    fn hosts_follow_where_calls_come_in() {
        let hosts = |through| {
            let wish = Intent { through, ..testing::intent("next", Strategy::Overlay) };
            testing::plan("tagged", wish).spec().mirror.hosts
        };
        let local = ["cart.store", "cart.store.svc", "cart.store.svc.cluster.local"];
        assert_eq!(hosts(Through::External), ["cart.store.example.com"]);
        assert_eq!(hosts(Through::Local), local);
        assert_eq!(hosts(Through::Both), [&["cart.store.example.com"][..], &local].concat());
    }

    #[test]
    fn a_token_stays_where_there_is_an_id() {
        let uid = Some("3F9A2C51-7d04-4b6e-9a1c-55e0d1b7c842");
        assert_eq!(token(uid), "3f9a2c517d044b6e");
        for none in [None, Some("short")] {
            assert_eq!(token(none).len(), 16);
            assert_ne!(token(none), token(none), "nobody can know it");
        }
    }
}

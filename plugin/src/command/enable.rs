//! `kubectl mirror enable`: starts a mirror, or changes one in place.

mod filter;
mod words;

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap_complete::ArgValueCandidates;
use kube::ResourceExt;
use kube::core::ObjectMeta;

use super::common::{self, Applying, DryRun, Waiting, Wish};
use crate::cli::ExitStatus;
use crate::cluster::{Change, Cluster, Connection, Error, Pod, Right};
use crate::completion;
use crate::gateway::{Gateways, Wanted};
use crate::intent::{Intent, MirrorName, Strategy, To};
use crate::istio::InstalledBy;
use crate::istio::names::ISTIO_NAMESPACE;
use crate::kinds::Service;
use crate::knative::refusal::check_istio;
use crate::knative::{Plan, Refusal, tag};
use crate::output::message;
use crate::steps::installing::{self, Installation};
use crate::steps::mirroring::{self, Objects};
use crate::steps::standing::now;
use crate::steps::{Found, GatewayPods, Survey, Which, gateways, mirrors, rights, survey, tagging};

/// Copy a share of a service's live requests to a new version, and compare its answers.
///
/// Users are answered as before. Nothing is applied unless it can work; the filter is installed on the gateways where it is
/// missing, and the command ends when every gateway pod has the mirror. Running it again changes the mirror in place.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    # 5 % of the safe requests to hello are copied to the revision tagged v2\n  \
    kubectl mirror enable hello --to v2 --percent 5\n\n  \
    # a revision that has no tag yet, for an hour, with rules\n  \
    kubectl mirror enable hello --to hello-00002 --tag next --for 1h --rules rules.yaml\n\n  \
    # see what would be applied\n  \
    kubectl mirror enable hello --to v2 --dry-run=client -o yaml")]
pub struct Args {
    /// The Knative Service or Route whose requests are copied.
    #[arg(value_name = "SERVICE", value_parser = common::parse_service, add = ArgValueCandidates::new(completion::services))]
    service: String,

    #[command(flatten)]
    wish: Wish,

    /// Give the revision of --to this tag, without traffic, where Knative routes nothing to it.
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// End by itself after this time, for example 30m or 2h; the gateways keep the time.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,

    #[command(flatten)]
    applying: Applying,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// What cannot work, before anything is applied; what the API server refuses; gateways that do not take it.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let mut intent = args.wish.intent(Strategy::Overlay)?;
    intent.expires = args.time.map(|time| now() + time.as_secs());
    let cluster = args.connection.connect().await?;
    let name = MirrorName::new(&cluster.namespace, &args.service);
    Enabling { cluster: &cluster, name: &name, args: &args }.run(intent).await
}

/// A mirror that is being enabled.
struct Enabling<'a> {
    cluster: &'a Cluster,
    name: &'a MirrorName,
    args: &'a Args,
}

/// What is known of the gateways.
enum Seen {
    /// Their pods.
    Pods(Vec<GatewayPods>),
    /// The user may not look.
    Nothing(String),
}

impl Enabling<'_> {
    async fn run(&self, intent: Intent) -> Result<ExitStatus> {
        let survey = survey(self.cluster, self.name).await?;
        let inventory = mirrors(self.cluster, Which::All).await?;
        let before = inventory.mirrors.iter().find(|found| found.name == *self.name);
        let (plan, tagging) = self.plan(&survey, intent, before).await?;
        let seen = self.gateways(&survey, &plan).await?;
        let objects = self.objects(&survey, &plan, &seen)?;
        mirroring::check_way(self.cluster, &plan, &objects, &inventory).await?;
        if self.args.applying.dry_run == DryRun::Client {
            return self.show(&objects, common::change_of(before));
        }
        self.check_rights(&plan, &objects, before, tagging.is_some()).await?;
        if let Seen::Pods(pods) = &seen {
            if plan.intent.strategy == Strategy::VirtualService {
                filter::check_rights(self.cluster, pods).await?;
            }
            self.check_versions(&plan, pods).await?;
        }
        words::warn_of_methods(&plan);

        self.install(&plan, &seen).await?;
        let options = self.args.applying.options();
        let left = self.leave_strategy(&objects, before).await?;
        let applied = async {
            if left {
                self.wait_until_left(&seen).await?;
            }
            mirroring::apply(self.cluster, &objects, before, options).await
        };
        let (change, applied) = match applied.await {
            Err(error) if left => return Err(self.undone(&plan, &Objects::default(), before, error).await),
            done => done?,
        };
        if options.dry_run {
            return self.show(&applied, change);
        }
        let inventory = mirrors(self.cluster, Which::All).await?;
        mirroring::give_way(self.cluster, &plan, &inventory).await?;
        self.keep_filter(&seen).await?;
        // The mirror's objects know of the new tag by now, so that `disable` takes it away whatever happens.
        if let Err(error) = self.change_tags(&plan, before, tagging.as_ref()).await {
            return Err(self.undone(&plan, &applied, before, error).await);
        }
        self.show(&applied, change)?;
        self.wait(&plan, &applied, seen).await?;
        Ok(ExitStatus::Success)
    }

    /// Resolves the wish, with a new tag where the revision needs one.
    async fn plan(
        &self,
        survey: &Survey,
        mut intent: Intent,
        before: Option<&Found>,
    ) -> Result<(Plan, Option<Service>)> {
        let tagged = before.and_then(|found| found.intent.as_ref().ok()?.tag_added.clone());
        match survey.plan(self.cluster, intent.clone()).await {
            Ok(mut plan) => {
                // A tag that an earlier `enable` added goes with the mirror, as long as this needs it.
                let still = tagged.filter(|tag| survey.source.tags.get(tag) == Some(&plan.candidate.revision));
                plan.intent.tag_added = still;
                Ok((plan, None))
            }
            Err(error) => match (error.downcast_ref::<Refusal>(), &self.args.tag, &intent.to) {
                (Some(Refusal::Unreachable { .. }), Some(tag), To::Name(revision)) => {
                    let Some(service) = survey.service.clone() else {
                        bail!(
                            "Route {} belongs to no Knative Service; add the tag {tag} to the Route yourself",
                            self.name
                        );
                    };
                    tag::add(&service, tag, revision)?;
                    let revision = revision.clone();
                    intent.tag_added = Some(tag.clone());
                    Ok((survey.plan_with_tag(self.cluster, intent, tag, &revision).await?, Some(service)))
                }
                _ => Err(error),
            },
        }
    }

    fn tag(&self) -> &str {
        self.args.tag.as_deref().unwrap_or_default()
    }

    /// The gateways' pods. With the strategy `virtualservice` a user may have no right to see them.
    async fn gateways(&self, survey: &Survey, plan: &Plan) -> Result<Seen> {
        let found =
            gateways::of_source(self.cluster, &survey.source, plan.intent.through, survey.ingress.as_ref()).await;
        match found {
            Ok(pods) => Ok(Seen::Pods(pods)),
            Err(error) if plan.intent.strategy == Strategy::VirtualService => match error.downcast_ref::<Error>() {
                Some(Error::Forbidden(forbidden)) => Ok(Seen::Nothing(forbidden.right.to_string())),
                _ => Err(error),
            },
            Err(error) if error.downcast_ref().is_some_and(Error::is_forbidden) => Err(anyhow!(
                "{error:#}\nA mirror of the strategy overlay needs rights to the gateways (examples/rbac/platform-team.yaml); \
                 with rights in namespace {} alone, add --strategy virtualservice",
                self.name.namespace
            )),
            Err(error) => Err(error),
        }
    }

    fn objects(&self, survey: &Survey, plan: &Plan, seen: &Seen) -> Result<Objects> {
        match (plan.intent.strategy, seen) {
            (Strategy::Overlay, Seen::Pods(pods)) => Ok(mirroring::overlays(plan, pods)),
            (Strategy::Overlay, Seen::Nothing(right)) => bail!("the gateways cannot be seen: {right}"),
            (Strategy::VirtualService, _) => {
                mirroring::virtual_services(plan, &survey.gateway_namespaces(plan.intent.through))
            }
        }
    }

    async fn check_rights(&self, plan: &Plan, objects: &Objects, before: Option<&Found>, tags: bool) -> Result<()> {
        let mut wanted = Vec::new();
        for overlay in &objects.overlays {
            let namespace = overlay.metadata.namespace.as_deref().unwrap_or_default();
            wanted.extend(rights::to_write(rights::ENVOY_FILTERS, namespace));
            if self.args.waiting.wait {
                wanted.extend(rights::to_look(namespace));
            }
        }
        if plan.intent.strategy == Strategy::VirtualService {
            wanted.extend(rights::to_write(rights::VIRTUAL_SERVICES, &self.name.namespace));
        }
        // What the mirror is made of now and will not be any more.
        if let Some(before) = before {
            let namespace = |metadata: &ObjectMeta| metadata.namespace.clone().unwrap_or_default();
            for overlay in before
                .overlays
                .iter()
                .filter(|before| !objects.overlays.iter().any(|o| o.name_any() == before.name_any()))
            {
                wanted.push(Right::new("delete", rights::ENVOY_FILTERS, &namespace(&overlay.metadata)));
            }
            if objects.virtual_service.is_none() && !before.virtual_services.is_empty() {
                wanted.push(Right::new("delete", rights::VIRTUAL_SERVICES, &self.name.namespace));
            }
        }
        if tags || old_tag(before, plan).is_some() {
            wanted.push(Right::new("patch", rights::SERVICES, &self.name.namespace));
        }
        wanted.sort();
        wanted.dedup();
        rights::need(self.cluster, &wanted).await
    }

    /// Refuses an Istio that would drop what keeps copies apart, and gateways that cannot be looked into.
    async fn check_versions(&self, plan: &Plan, gateways: &[GatewayPods]) -> Result<()> {
        let mut namespaces: Vec<&str> = gateways.iter().map(|gateway| gateway.workload.namespace.as_str()).collect();
        namespaces.push(ISTIO_NAMESPACE);
        namespaces.sort_unstable();
        namespaces.dedup();
        for namespace in namespaces {
            match self.cluster.istiod_versions(namespace).await {
                Ok(versions) => versions.iter().try_for_each(|version| check_istio(version, "istiod"))?,
                // What the gateways say has to do.
                Err(Error::Forbidden(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let pods: Vec<Pod> = gateways.iter().flat_map(|gateway| gateway.pods.clone()).collect();
        for pod in &pods {
            check_istio(&pod.version, &format!("pod {}/{}", pod.namespace, pod.name))?;
        }
        if !self.args.waiting.wait {
            return Ok(());
        }
        for state in Gateways::of(self.cluster, &pods).states(&Wanted::module()).await {
            match state.found {
                Ok(found) => check_istio(found.istio.as_deref().unwrap_or_default(), &format!("pod {}", state.pod))?,
                Err(reason) if plan.intent.strategy == Strategy::Overlay => bail!(
                    "cannot look into gateway pod {}: {reason}\nNothing was applied; --wait=false applies it unseen",
                    state.pod
                ),
                Err(_) => {}
            }
        }
        Ok(())
    }

    async fn install(&self, plan: &Plan, seen: &Seen) -> Result<()> {
        let gateways = match seen {
            Seen::Pods(gateways) => gateways,
            Seen::Nothing(right) => {
                message(format_args!(
                    "note: whether the gateways have the filter could not be checked ({right}); {}",
                    filter::WITHOUT
                ));
                return Ok(());
            }
        };
        for gateway in gateways {
            match installing::ensure(self.cluster, gateway, self.installation()).await {
                Ok(Some(done)) => self.said_of_filter(gateway, done.change)?,
                Ok(None) if plan.intent.strategy == Strategy::Overlay => {}
                Ok(None) => filter::check(self.cluster, gateway).await?,
                Err(error) if plan.intent.strategy == Strategy::VirtualService && filter::may_not_look(&error) => {
                    filter::check(self.cluster, gateway).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A `disable` of the last mirror before this one may have taken the filter away since it was seen.
    async fn keep_filter(&self, seen: &Seen) -> Result<()> {
        let Seen::Pods(gateways) = seen else { return Ok(()) };
        for gateway in gateways {
            match installing::installed(self.cluster, gateway).await {
                Ok(Some(_)) => {}
                Ok(None) => {
                    let done = installing::put(self.cluster, gateway, self.installation()).await?;
                    self.said_of_filter(gateway, done.change)?;
                }
                Err(error) if filter::may_not_look(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn installation(&self) -> Installation {
        let options = self.args.applying.options();
        Installation { by: InstalledBy::Enable, options, wait: self.args.waiting.limit(), restart: false }
    }

    /// Says that the filter was installed; not between the objects that are printed.
    fn said_of_filter(&self, gateway: &GatewayPods, change: Change) -> Result<()> {
        let (name, dry_run) = (gateway.workload.suffix(), self.args.applying.dry_run);
        if self.args.applying.output.is_none() {
            return common::said("filter", &name, change, dry_run);
        }
        message(common::sentence("filter", &name, change, dry_run));
        Ok(())
    }

    /// A mirror that changes its strategy is gone from the gateways before it comes back in its new form. Tells whether it
    /// does.
    async fn leave_strategy(&self, objects: &Objects, before: Option<&Found>) -> Result<bool> {
        let options = self.args.applying.options();
        let Some(before) = before.filter(|_| !options.dry_run) else { return Ok(false) };
        mirroring::leave_strategy(self.cluster, objects, before, options).await
    }

    async fn wait_until_left(&self, seen: &Seen) -> Result<()> {
        if let (Some(timeout), Seen::Pods(gateways)) = (self.args.waiting.limit(), seen) {
            let pods: Vec<Pod> = gateways.iter().flat_map(|gateway| gateway.pods.clone()).collect();
            mirroring::wait_until_gone(self.cluster, self.name, &pods, timeout).await?;
        }
        Ok(())
    }

    /// Undoes what was applied, since a later step failed with `error`.
    async fn undone(
        &self,
        plan: &Plan,
        applied: &Objects,
        before: Option<&Found>,
        error: anyhow::Error,
    ) -> anyhow::Error {
        match mirroring::undo(self.cluster, plan, applied, before).await {
            Ok(()) if before.is_some() => anyhow!("{error:#}\nThe mirror is as it was before."),
            Ok(()) => anyhow!("{error:#}\nThe mirror has been removed again."),
            Err(left) => anyhow!(
                "{error:#}\nThe mirror could not be taken back ({left:#}): kubectl mirror disable {} -n {}",
                self.name.route,
                self.name.namespace
            ),
        }
    }

    /// Adds the tag that the mirror needs, and takes away the one that it needed before.
    async fn change_tags(&self, plan: &Plan, before: Option<&Found>, tagging: Option<&Service>) -> Result<()> {
        if let Some(service) = tagging {
            tagging::add(self.cluster, service, self.tag(), &plan.candidate.revision, false).await?;
            message(format_args!("revision {} has the tag {} now", plan.candidate.revision, self.tag()));
        }
        if let Some(old) = old_tag(before, plan) {
            tagging::remove(self.cluster, self.name, old, false).await?;
        }
        Ok(())
    }

    /// Says what was done to the mirror, or prints its objects.
    fn show(&self, objects: &Objects, change: Change) -> Result<ExitStatus> {
        match self.args.applying.output {
            Some(format) => common::print(objects, format)?,
            None => common::said("mirror", &self.name.route, change, self.args.applying.dry_run)?,
        }
        Ok(ExitStatus::Success)
    }

    async fn wait(&self, plan: &Plan, applied: &Objects, seen: Seen) -> Result<()> {
        let Seen::Pods(gateways) = seen else {
            message(words::describe(plan));
            return Ok(());
        };
        if !self.args.waiting.wait {
            message(words::describe(plan));
            message(format_args!("Whether the gateways have it: kubectl mirror status {}", self.name.route));
            return Ok(());
        }
        let pods: Vec<Pod> = gateways.into_iter().flat_map(|gateway| gateway.pods).collect();
        let timeout = self.args.waiting.timeout;
        let live = mirroring::wait_until_live(self.cluster, plan, applied, &pods, timeout).await?;
        message(words::describe(plan));
        message(format_args!(
            "Live on {live} of {live} gateway pods. See what differs: kubectl mirror report {}",
            self.name.route
        ));
        Ok(())
    }
}

/// The tag that was added for what the mirror copied to before, where it does not need it any more.
fn old_tag<'a>(before: Option<&'a Found>, plan: &Plan) -> Option<&'a String> {
    let old = before?.intent.as_ref().ok()?.tag_added.as_ref();
    old.filter(|old| plan.intent.tag_added.as_ref() != Some(old))
}

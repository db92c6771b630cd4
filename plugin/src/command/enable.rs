//! `kubectl mirror enable`: starts a mirror, or changes one in place.

mod checks;
mod filter;
mod words;

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap_complete::ArgValueCandidates;

use super::common::{self, Applying, DryRun, Waiting, Wish};
use super::origin::Fetching;
use crate::cli::ExitStatus;
use crate::cluster::{Change, Cluster, Connection, Error, Pod};
use crate::completion;
use crate::intent::{Intent, MirrorName, Strategy, To};
use crate::istio::wasm_plugin::Origin;
use crate::kinds::Service;
use crate::knative::{Plan, Refusal, tag};
use crate::output::message;
use crate::steps::mirroring::{self, Objects};
use crate::steps::standing::now;
use crate::steps::{Found, GatewayPods, Survey, Which, gateways, mirrors, sending, survey, tagging, waiting};

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
    module: Fetching,

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
    let origin = args.module.origin(intent.strategy)?;
    let cluster = args.connection.connect().await?;
    let name = MirrorName::new(&cluster.namespace, &args.service);
    Enabling { cluster: &cluster, name: &name, args: &args, origin: origin.as_ref() }.run(intent).await
}

/// A mirror that is being enabled.
struct Enabling<'a> {
    cluster: &'a Cluster,
    name: &'a MirrorName,
    args: &'a Args,
    /// Where gateways get the module of a WasmPlugin, as far as it was said.
    origin: Option<&'a Origin>,
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
        let objects = self.objects(&survey, &plan, &seen).await?;
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
            if tagging.is_none() {
                self.check_targets(&plan, pods).await?;
            }
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
        self.keep_filter(&plan, &seen).await?;
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
        match gateways::of_plan(self.cluster, survey, plan).await {
            Ok(pods) => Ok(Seen::Pods(pods)),
            Err(error) if plan.intent.strategy == Strategy::VirtualService => match error.downcast_ref::<Error>() {
                Some(Error::Forbidden(forbidden)) => Ok(Seen::Nothing(forbidden.right.to_string())),
                _ => Err(error),
            },
            Err(error) if error.downcast_ref().is_some_and(Error::is_forbidden) => Err(anyhow!(
                "{error:#}\nA mirror of the strategy {} needs rights to the gateways (examples/rbac/platform-team.yaml); \
                 with rights in namespace {} alone, add --strategy virtualservice",
                plan.intent.strategy,
                self.name.namespace
            )),
            Err(error) => Err(error),
        }
    }

    async fn objects(&self, survey: &Survey, plan: &Plan, seen: &Seen) -> Result<Objects> {
        match (plan.intent.strategy, seen) {
            (Strategy::VirtualService, _) => {
                mirroring::virtual_services(plan, &survey.gateway_namespaces(plan.intent.through))
            }
            (_, Seen::Nothing(right)) => bail!("the gateways cannot be seen: {right}"),
            (Strategy::Overlay, Seen::Pods(pods)) => Ok(mirroring::overlays(plan, pods)),
            (Strategy::WasmPlugin, Seen::Pods(gateways)) => {
                let mut plugins = Vec::new();
                for GatewayPods { workload, .. } in gateways {
                    let there = sending::installed(self.cluster, workload).await?;
                    plugins.push(sending::object(workload, there.as_ref(), self.sending())?);
                }
                Ok(mirroring::held(plan, &plugins))
            }
        }
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
            waiting::wait_until_gone(self.cluster, self.name, &pods, timeout).await?;
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
        let live = waiting::wait_until_live(self.cluster, plan, applied, &pods, timeout).await?;
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

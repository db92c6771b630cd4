//! What several Envoys have counted, each for itself, and which of them could not be asked.

use super::Snapshot;

/// What several Envoys have counted in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// A snapshot for each Envoy that answered.
    pub envoys: Vec<Snapshot>,
    /// Those whose counts are not in it, by name, with the reason.
    pub missing: Vec<(String, String)>,
    /// Where the time begins, in seconds since the Unix epoch; `None` where all is in it that they have ever counted.
    pub since: Option<u64>,
    /// Where it ends; `None` where it is the Envoys' own now.
    pub until: Option<u64>,
    /// Those that began to count anew within the time, by name.
    pub began_anew: Vec<String>,
}

impl Gathered {
    /// What one Envoy has counted so far.
    pub fn one(envoy: Snapshot) -> Self {
        Self { envoys: vec![envoy], ..Self::default() }
    }

    /// The sum over all that answered.
    pub fn sum(&self) -> Snapshot {
        let mut sum = Snapshot::default();
        self.envoys.iter().cloned().for_each(|envoy| sum.merge(envoy));
        sum
    }
}

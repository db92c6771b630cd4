//! The mirrors of one plugin configuration, by the hosts that they are for.

use std::rc::Rc;

use crate::config::{Selection, Sending, Sent};
use crate::headers::HeaderBlock;
use crate::observer::mirrors::MOST_MIRRORS;
use crate::pair::Setting;
use crate::selection;
use crate::sorted::Sorted;

/// Stands for any host.
const ANY: &str = "*";

/// A mirror, made ready.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) setting: Rc<Setting>,
    pub(crate) selection: Selection,
    pub(crate) fingerprint: String,
    /// The headers that tell a copy's target. Clients do not know their names, so that they also tell a copy.
    pub(crate) to: String,
    pub(crate) also: String,
}

/// The mirrors of one plugin configuration.
#[derive(Debug, Default)]
pub struct Roster {
    mirrors: Vec<Rc<Listed>>,
    hosts: Sorted<Vec<u8>, usize>,
    any: Option<usize>,
}

impl Listed {
    fn new(sent: Sent) -> Self {
        let Sent { mirror, selection, fingerprint } = sent;
        Self {
            setting: Rc::new(Setting::new(mirror)),
            fingerprint,
            to: selection.candidate_header(),
            also: selection.secondary_header(),
            selection,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.setting.mirror.name
    }

    /// Whether a request is a copy that this mirror sent: it came round to a proxy that has the mirror.
    pub(super) fn is_own_copy(&self, headers: &HeaderBlock) -> bool {
        headers.get(&self.to).is_some() || headers.get(&self.also).is_some()
    }
}

impl Roster {
    /// Reads a configuration. `None` where it names no mirrors; what is of no use in it goes to `refused`.
    pub(super) fn read(text: &[u8], refused: &mut Vec<String>) -> Option<Self> {
        let sending = match Sending::from_json(text) {
            Ok(sending) => sending?,
            Err(error) => {
                refused.push(format!("plugin configuration refused: {error}"));
                return Some(Self::default());
            }
        };
        let mut roster = Self::default();
        for (name, json) in sending.mirrors {
            if let Err(reason) = roster.add(&name, &json) {
                refused.push(format!("mirror {name}: configuration refused: {reason}"));
            }
        }
        Some(roster)
    }

    fn add(&mut self, name: &str, json: &str) -> Result<(), String> {
        let sent = Sent::from_json(json.as_bytes()).map_err(|error| error.to_string())?;
        if sent.mirror.name != name {
            return Err(format!("it calls itself {}", sent.mirror.name));
        }
        if self.mirrors.len() >= MOST_MIRRORS {
            return Err(format!("there are {MOST_MIRRORS} mirrors before it already"));
        }
        let at = self.mirrors.len();
        for host in &sent.mirror.hosts {
            if host == ANY {
                self.any = self.any.or(Some(at));
            } else {
                let host = host.to_ascii_lowercase().into_bytes();
                if self.hosts.get(&host).is_none() {
                    self.hosts.insert(host, at);
                }
            }
        }
        self.mirrors.push(Rc::new(Listed::new(sent)));
        Ok(())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Rc<Listed>> {
        self.mirrors.iter()
    }

    /// The mirror of a request's host.
    pub(super) fn find(&self, headers: &HeaderBlock) -> Option<&Rc<Listed>> {
        if self.mirrors.is_empty() {
            return None;
        }
        let known = if self.hosts.is_empty() { None } else { self.hosts.get(&selection::host(headers)) };
        self.mirrors.get(known.copied().or(self.any)?)
    }
}

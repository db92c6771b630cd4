//! Requests whose pair ended a short while ago: a further try of one is no new request, and a copy of one no orphan.

/// How many are remembered: 32 KiB a worker.
const PLACES: usize = 1 << 12;

const MASK: usize = PLACES.wrapping_sub(1);

/// Hashes of requests, each in the place that it names itself; a newer one takes an older one's place. So nothing has to
/// be cleaned up, and what is forgotten too early is merely counted once more.
#[derive(Debug)]
pub(super) struct Recent {
    hashes: Vec<u64>,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { hashes: vec![0; PLACES] }
    }

    pub(super) fn insert(&mut self, hash: u64) {
        if let Some(place) = self.hashes.get_mut(Self::place(hash)) {
            *place = hash;
        }
    }

    pub(super) fn contains(&self, hash: u64) -> bool {
        self.hashes.get(Self::place(hash)) == Some(&hash)
    }

    fn place(hash: u64) -> usize {
        // The low bits; on 32-bit targets too.
        hash as usize & MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_hash_takes_an_older_ones_place() {
        let mut recent = Recent::new();
        let (old, new) = (7, 7 + PLACES as u64);
        recent.insert(old);
        recent.insert(8);
        assert!(recent.contains(old) && recent.contains(8) && !recent.contains(new));
        recent.insert(new);
        assert!(!recent.contains(old) && recent.contains(8) && recent.contains(new));
    }
}

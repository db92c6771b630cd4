//! What is in use, over all mirrors and of each, against the bounds of both.

/// So many things, with so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

impl Usage {
    pub(crate) const fn new(count: usize, bytes: usize) -> Self {
        Self { count, bytes }
    }

    fn plus(self, more: Self) -> Self {
        Self { count: self.count.saturating_add(more.count), bytes: self.bytes.saturating_add(more.bytes) }
    }

    fn minus(self, less: Self) -> Self {
        Self { count: self.count.saturating_sub(less.count), bytes: self.bytes.saturating_sub(less.bytes) }
    }

    fn is_within(self, most: Self) -> bool {
        self.count <= most.count && self.bytes <= most.bytes
    }
}

/// What all mirrors use, and what each.
#[derive(Debug)]
pub(crate) struct Budget {
    most: Usage,
    total: Usage,
    of_mirror: Vec<Usage>,
}

impl Budget {
    /// Nothing is used; all mirrors together may use `most`.
    pub(crate) const fn new(most: Usage) -> Self {
        Self { most, total: Usage::new(0, 0), of_mirror: Vec::new() }
    }

    /// Whether a mirror may use so much more, where it may use `most` in all.
    pub(crate) fn has_room(&self, mirror: usize, more: Usage, most: Usage) -> bool {
        self.total.plus(more).is_within(self.most) && self.of(mirror).plus(more).is_within(most)
    }

    pub(crate) fn add(&mut self, mirror: usize, more: Usage) {
        self.total = self.total.plus(more);
        if self.of_mirror.len() <= mirror {
            self.of_mirror.resize(mirror.saturating_add(1), Usage::default());
        }
        if let Some(usage) = self.of_mirror.get_mut(mirror) {
            *usage = usage.plus(more);
        }
    }

    pub(crate) fn take(&mut self, mirror: usize, less: Usage) {
        self.total = self.total.minus(less);
        if let Some(usage) = self.of_mirror.get_mut(mirror) {
            *usage = usage.minus(less);
        }
    }

    /// What one mirror uses.
    pub(crate) fn of(&self, mirror: usize) -> Usage {
        self.of_mirror.get(mirror).copied().unwrap_or_default()
    }

    /// What all use.
    #[cfg(test)]
    pub(crate) const fn total(&self) -> Usage {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_hold() {
        let mut budget = Budget::new(Usage::new(3, 100));
        let most = Usage::new(2, 80);
        let one = Usage::new(1, 40);
        assert!(budget.has_room(7, Usage::new(2, 80), most));
        assert!(!budget.has_room(7, Usage::new(1, 81), most));
        budget.add(7, one);
        budget.add(7, one);
        assert!(!budget.has_room(7, one, most), "the mirror's own");
        assert!(budget.has_room(0, Usage::new(1, 20), most));
        assert!(!budget.has_room(0, Usage::new(1, 21), most), "that of all");
        budget.take(7, one);
        budget.take(9, one);
        assert_eq!((budget.of(7), budget.of(0), budget.total()), (one, Usage::default(), Usage::default()));
    }
}

//! The walk through both documents: values and scalars, and the report of what differs.

use super::lex::{self, Fault, Type};
use super::pair::{Pair, Spans};
use super::path::Path;
use super::rules::BodyRules;
use super::{MAX_DEPTH, hash, number, string};
use crate::compare::sink::{self, Sink};
use crate::divergence::{self, Divergence, Kind};

/// One comparison under way.
pub struct Walk<'t, 'r> {
    pub primary: &'t [u8],
    pub shadow: &'t [u8],
    pub rules: &'r BodyRules,
    sink: &'r mut Sink,
    /// How many differences were found that count, repetitions included.
    pub differences: usize,
    /// What differs, as far as it is told by place and value: the primary's less the shadow's.
    balance: Balance,
    /// How many bytes may still be read again.
    pub budget: usize,
    /// Where the keys of the open objects stand in the primary's text, outer objects first.
    pub keys: Vec<usize>,
    /// The hashes of the keys of objects that are being digested, outer objects first.
    pub key_hashes: Vec<u64>,
}

/// A point to which a [`Walk`]'s findings can be taken back.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    sink: sink::Mark,
    pub differences: usize,
    balance: Balance,
}

/// A sum over all that differs of hashes of place and value, the primary's less the shadow's. Elements that only changed
/// places leave it as it was, so that whole arrays need a second look only where that is likely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Balance {
    sum: u64,
    /// How many values are not in the sum: whole objects and arrays.
    unknown: usize,
}

impl Balance {
    /// The balance with a value's hash taken in, `None` for a value that is not known.
    fn with(self, hash: Option<u64>, sum: impl FnOnce(u64, u64) -> u64) -> Self {
        match hash {
            Some(hash) => Self { sum: sum(self.sum, hash), ..self },
            None => Self { unknown: self.unknown.wrapping_add(1), ..self },
        }
    }
}

impl<'t, 'r> Walk<'t, 'r> {
    /// How often over all bytes may be read again, on average.
    const PASSES: usize = 64;
    /// What may be read again in the smallest texts, in bytes.
    const LEAST: usize = 64 * 1024;

    /// Makes ready to compare two texts.
    pub fn new(primary: &'t [u8], shadow: &'t [u8], rules: &'r BodyRules, sink: &'r mut Sink) -> Self {
        let size = primary.len().saturating_add(shadow.len());
        let budget = size.saturating_mul(Self::PASSES).saturating_add(Self::LEAST);
        Self {
            primary,
            shadow,
            rules,
            sink,
            differences: 0,
            balance: Balance::default(),
            budget,
            keys: Vec::new(),
            key_hashes: Vec::new(),
        }
    }

    /// Compares the two documents.
    pub fn documents(&mut self) -> Result<(), Fault> {
        let whole = |text: &[u8]| lex::Span { start: lex::document_start(text), end: text.len() };
        let spans = Spans { primary: whole(self.primary), shadow: whole(self.shadow) };
        let mut pair = Pair::new(self.primary, self.shadow, spans);
        pair.space();
        self.value(&mut pair, &Path::root())?;
        pair.space();
        let all = (pair.at, pair.shadow_at) == (self.primary.len(), self.shadow.len());
        if all { Ok(()) } else { Err(Fault::Syntax) }
    }

    /// Compares the values at `pair` and passes them.
    pub fn value(&mut self, pair: &mut Pair<'t>, path: &Path<'_>) -> Result<(), Fault> {
        pair.look();
        let (first, shadow_first) = pair.next();
        let (Some(kind), Some(shadow_kind)) = (Type::begun_by(first), Type::begun_by(shadow_first)) else {
            return Err(Fault::Syntax);
        };
        if kind != shadow_kind {
            let spans = pair.value(path.depth())?;
            self.report_spans(path, Kind::Type, spans);
            return Ok(());
        }
        match kind {
            Type::Object | Type::Array if pair.small_and_same(path.depth()) => {}
            Type::Object => return self.object(pair, path),
            Type::Array => return self.array(pair, path),
            Type::String => {
                if let Some(spans) = pair.string()?
                    && !string::equal(spans.primary.of(self.primary), spans.shadow.of(self.shadow))
                {
                    self.report_spans(path, Kind::Value, spans);
                }
            }
            Type::Number => {
                if let Some(spans) = pair.word()?
                    && !self.numbers_agree(path, spans)
                {
                    self.report_spans(path, Kind::Value, spans);
                }
            }
            Type::Bool | Type::Null => {
                if let Some(spans) = pair.word()? {
                    self.report_spans(path, Kind::Value, spans);
                }
            }
        }
        Ok(())
    }

    fn numbers_agree(&mut self, path: &Path<'_>, spans: Spans) -> bool {
        let (one, other) = (spans.primary.of(self.primary), spans.shadow.of(self.shadow));
        if number::equal(one, other) {
            return true;
        }
        let scope = self.rules.at(path);
        let agree = self.rules.bounds(scope).any(|bounds| bounds.allow(one, other));
        if agree && !scope.ignored {
            // Within bounds, but the sums of elements are exact.
            self.weigh(path, Some(one), Some(other));
        }
        agree
    }

    /// Compares two values that were checked already, wherever they stand. What it took to find them was spent for this
    /// as well.
    pub fn spans(&mut self, spans: Spans, path: &Path<'_>) -> Result<(), Fault> {
        if self.same_bytes(spans) {
            return Ok(());
        }
        self.value(&mut Pair::new(self.primary, self.shadow, spans), path)
    }

    /// Whether two lexemes are the same byte for byte.
    pub fn same_bytes(&self, spans: Spans) -> bool {
        spans.primary.of(self.primary) == spans.shadow.of(self.shadow)
    }

    /// Refuses an object or array at `path` that lies too deep.
    pub fn enter(&self, path: &Path<'_>) -> Result<(), Fault> {
        if path.depth() < MAX_DEPTH { Ok(()) } else { Err(Fault::Deep) }
    }

    /// Takes `bytes` that are to be read again from the budget.
    pub fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.budget = self.budget.checked_sub(bytes).ok_or(Fault::Complex)?;
        Ok(())
    }

    /// Takes the bytes of both lexemes from the budget.
    pub fn spend_spans(&mut self, spans: Spans) -> Result<(), Fault> {
        self.spend(spans.primary.len().saturating_add(spans.shadow.len()))
    }

    /// Remembers what was found up to now.
    pub fn mark(&self) -> Mark {
        Mark { sink: self.sink.mark(), differences: self.differences, balance: self.balance }
    }

    /// Forgets what was found since `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.sink.rewind(mark.sink);
        self.differences = mark.differences;
        self.balance = mark.balance;
    }

    /// Whether what differs since `mark` may be nothing but elements that changed places.
    pub fn may_be_moves_since(&self, mark: Mark) -> bool {
        self.balance == mark.balance || self.balance.unknown != mark.balance.unknown
    }

    /// Takes two lexemes that differ into the balance.
    fn weigh(&mut self, path: &Path<'_>, primary: Option<&[u8]>, shadow: Option<&[u8]>) {
        let hash = |lexeme: &[u8]| hash::scalar(lexeme).map(|hash| hash::mix(path.fingerprint(), hash));
        if let Some(lexeme) = primary {
            self.balance = self.balance.with(hash(lexeme), u64::wrapping_add);
        }
        if let Some(lexeme) = shadow {
            self.balance = self.balance.with(hash(lexeme), u64::wrapping_sub);
        }
    }

    /// Reports two lexemes that differ, unless a rule says that this does not count.
    pub fn report_spans(&mut self, path: &Path<'_>, kind: Kind, spans: Spans) {
        let (primary, shadow) = (self.primary, self.shadow);
        self.report(path, kind, Some(spans.primary.of(primary)), Some(spans.shadow.of(shadow)));
    }

    /// Reports a difference, unless a rule says that it does not count. Values are lexemes, shown as far as rules allow.
    pub fn report(&mut self, path: &Path<'_>, kind: Kind, primary: Option<&[u8]>, shadow: Option<&[u8]>) {
        let scope = self.rules.at(path);
        if scope.ignored || (kind == Kind::Added && scope.may_be_added) {
            return;
        }
        self.differences = self.differences.saturating_add(1);
        if kind != Kind::Order {
            self.weigh(path, primary, shadow);
        }
        let shown = |lexeme: &[u8]| {
            let hides_part = || matches!(lexeme, [b'{' | b'[', ..]) && self.rules.redacts_below(scope);
            if scope.redacted || hides_part() { divergence::REDACTED.to_owned() } else { divergence::shown(lexeme) }
        };
        self.sink.add_once(hash::mix(path.fingerprint(), kind as u64), || Divergence {
            place: path.place(),
            kind,
            primary: primary.map(shown),
            shadow: shadow.map(shown),
        });
    }
}

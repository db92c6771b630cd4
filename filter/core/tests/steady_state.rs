//! Counting a pair allocates nothing once its names are known: it stands on the path of every mirrored request.

#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use mirror_core::config::Mirror;
use mirror_core::divergence::Kind;
use mirror_core::outcome::Outcome;
use mirror_core::place::Place;
use mirror_core::stats::{Record, Stats, Tally};

/// The system's allocator, counting each thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is the system's allocator's own; the count touches no memory that it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get().wrapping_add(1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn counting_what_is_known_allocates_nothing() {
    let json =
        br#"{"version":1,"name":"default/hello","candidate":{"cluster":"c"},"hosts":["h"],"caps":{"endpoints":8}}"#;
    let mut stats = Stats::new(&Mirror::from_json(json).expect("a mirror"));
    let places = ["/a", "/b/*/c"].map(|place| (Place::from(place.to_owned()), Kind::Value, Tally::Diverged));
    let paths: Vec<_> = (0..100).map(|i| format!("/users/{i}/part{i}?page={i}")).collect();
    let round = |stats: &mut Stats| {
        for (path, ms) in paths.iter().zip(1..) {
            stats.record(&Record {
                outcome: Outcome::Diverged,
                method: "GET",
                path,
                statuses: Some((200, 503)),
                latencies: Some((ms * 1_000_000, ms * 2_000_000)),
                places: &places,
                secondary: true,
            });
        }
        let mut total = 0;
        stats.flush(&mut |_, n| total += n);
        total
    };

    let before = ALLOCATIONS.get();
    let first = round(&mut stats);
    let names = ALLOCATIONS.get() - before;
    let again = round(&mut stats);
    assert_eq!(ALLOCATIONS.get() - before - names, 0);
    assert!(names > 0 && first > 0, "the first round makes the names");
    assert_eq!(first, again);
}

//! The strategy `overlay`: what is copied where, and what is counted.

use super::hello::{Hello, with_filter};
use super::stories;

#[test]
fn safe_requests_from_outside_are_copied_and_each_pair_is_counted() {
    with_filter(async |cluster| stories::safe_requests(Hello::start(cluster).await).await);
}

#[test]
fn calls_from_inside_the_cluster_are_copied_where_asked_for() {
    with_filter(async |cluster| stories::calls_from_inside(Hello::start(cluster).await).await);
}

#[test]
fn a_share_of_the_requests_is_copied() {
    with_filter(async |cluster| stories::share(Hello::start(cluster).await).await);
}

#[test]
fn a_sticky_share_is_always_the_same_users() {
    with_filter(async |cluster| stories::sticky_share(Hello::start(cluster).await).await);
}

#[test]
fn a_secondary_is_one_more_copy_to_the_primarys_version() {
    with_filter(async |cluster| stories::secondary(Hello::start(cluster).await).await);
}

#[test]
fn other_methods_are_copied_where_asked_for() {
    with_filter(async |cluster| stories::other_methods(Hello::start(cluster).await).await);
}

#[test]
fn what_clients_forge_gains_nothing() {
    with_filter(async |cluster| {
        let hello = Hello::start(cluster).await;
        // The tag's host shares the mirrored routes.
        let hosts = [hello.service.host(), hello.service.tag_host("v2")];
        stories::forged_marks(hello, &hosts).await;
    });
}

#[test]
fn a_mirror_ends_by_itself_when_its_time_is_over() {
    with_filter(async |cluster| stories::ending(Hello::start(cluster).await).await);
}

//! What the statistics say: numbers (`model`, made by `build`), words (`verdict`), conditions (`fail_on`), and one file
//! for each format.

pub mod build;
pub mod compare;
pub mod examples;
pub mod fail_on;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod math;
pub mod model;
#[cfg(test)]
pub(crate) mod samples;
pub mod saved;
pub mod table;
pub mod text;
pub mod verdict;

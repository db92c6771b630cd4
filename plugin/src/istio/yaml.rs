//! Objects as YAML that kubectl applies, the same each time.

use serde::Serialize;
use serde_saphyr::ser_options;

/// Objects as YAML, separated by `---`. Texts of several lines are printed as such.
///
/// # Errors
/// A value that YAML cannot say.
pub fn to_yaml<T: Serialize>(objects: &[T]) -> Result<String, serde_saphyr::ser::Error> {
    // Long texts are not folded: nobody could search for what stands in them.
    let options = ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_multiple_with_options(objects, options)
}

//! The kubectl plugin as a library.

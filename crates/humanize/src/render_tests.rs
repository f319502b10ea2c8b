//! Tests of the module beside this file.

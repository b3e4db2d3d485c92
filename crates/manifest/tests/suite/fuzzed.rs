//! Replays the inputs in `fuzz/corpus`.

use super::property;

#[test]
fn manifest_yaml() {
    test_data::replay("manifest_yaml", property::manifest_yaml);
}

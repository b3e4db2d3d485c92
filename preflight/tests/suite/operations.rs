//! What the module answers beside verdicts, which go through the doors of e2e-tests.

use crate::POLICY;

#[test]
fn module_and_engine_agree_on_the_settings_of_every_case() {
    for case in e2e_tests::cases() {
        let settings = case.settings().to_string();
        let native = engine::validate_settings(settings.as_bytes());
        let verdict = POLICY
            .validate_settings(settings.as_bytes())
            .result
            .expect("an answer");
        assert_eq!(verdict.valid, native.is_ok(), "{}", case.name);
        assert_eq!(verdict.message, native.err(), "{}", case.name);
    }
}

#[test]
fn the_module_speaks_the_protocol_of_kubewarden() {
    assert_eq!(POLICY.protocol_version().result.unwrap(), "v1");
}

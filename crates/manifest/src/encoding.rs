//! The text of a file.

use crate::error::ManifestError;

/// The text of a file, with its byte order mark.
pub fn decoded(bytes: &[u8]) -> Result<&str, ManifestError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = String::from_utf8_lossy(before);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let what = "the text is not valid UTF-8; save the file as UTF-8";
        ManifestError::new(
            1 + before.matches('\n').count(),
            1 + line.chars().count(),
            what,
        )
    })
}

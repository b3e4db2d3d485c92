//! CDI: the `DataImportCron`s that it rejects, never runs, or imports again, and the images that it imports.

pub mod data_import_cron;
pub mod data_source;
pub mod image;

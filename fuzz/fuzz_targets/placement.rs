#![no_main]

fuzz::json_target!(placement);

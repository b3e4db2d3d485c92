#![no_main]

fuzz::json_target!(registry_answers);

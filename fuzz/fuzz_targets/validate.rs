#![no_main]

fuzz::json_target!(validate);

#![no_main]

fuzz::json_target!(node_list);

//! `simd-json`: a tape of the whole document, which is read afterwards.

use std::borrow::Cow;

use engine::node::{Census, Nodes as _, Tally};
use engine::placement::Placement;
use simd_json::prelude::*;
use simd_json::tape::Value;

use crate::Result;

pub(crate) fn census(mut list: Vec<u8>, placement: &Placement) -> Result<Vec<Census>> {
    let tape = simd_json::to_tape(&mut list)?;
    let mut tally = Tally::new(&[placement]);
    object(tape.as_value(), |key, value| match key {
        "items" => items(value, &mut tally),
        _ => Ok(()),
    })?;
    Ok(tally.finish())
}

fn items<'i>(items: Value<'_, 'i>, tally: &mut Tally<'i, '_>) -> Result<()> {
    tally.restart();
    if items.is_null() {
        return Ok(());
    }
    for item in items.as_array().ok_or("not a list")?.iter() {
        object(item, |key, value| match key {
            "metadata" => metadata(value, tally),
            "status" => object(value, |key, value| match key {
                "nodeInfo" => object(value, |key, value| {
                    if key == "architecture" {
                        tally.node.architecture = text(value)?;
                    }
                    Ok(())
                }),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })?;
        tally.count();
    }
    Ok(())
}

fn metadata<'i>(metadata: Value<'_, 'i>, tally: &mut Tally<'i, '_>) -> Result<()> {
    tally.node.name = None;
    tally.node.labels.clear();
    object(metadata, |key, value| match key {
        "name" => {
            tally.node.name = text(value)?;
            Ok(())
        }
        "labels" => {
            tally.node.labels.clear();
            object(value, |key, value| {
                if let Some(slot) = tally.keys.find(key.as_bytes()) {
                    tally
                        .node
                        .labels
                        .set(slot, text(value)?.unwrap_or_default());
                }
                Ok(())
            })
        }
        _ => Ok(()),
    })
}

fn object<'t, 'i>(
    value: Value<'t, 'i>,
    mut member: impl FnMut(&'i str, Value<'t, 'i>) -> Result<()>,
) -> Result<()> {
    if value.is_null() {
        return Ok(());
    }
    for (key, value) in value.as_object().ok_or("not an object")?.iter() {
        member(key, value)?;
    }
    Ok(())
}

fn text<'i>(value: Value<'_, 'i>) -> Result<Option<Cow<'i, str>>> {
    if value.is_null() {
        return Ok(None);
    }
    Ok(Some(Cow::Borrowed(
        value.into_string().ok_or("not a string")?,
    )))
}

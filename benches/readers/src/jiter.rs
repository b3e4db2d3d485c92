//! `jiter`: an iterator over the document. Its strings are valid until the next call, so stored strings are copied.

use std::borrow::Cow;

use engine::node::{Census, Nodes as _, Tally};
use engine::placement::Placement;
use jiter::{Jiter, JiterResult, Peek};

use crate::Result;

pub(crate) fn census(list: Vec<u8>, placement: &Placement) -> Result<Vec<Census>> {
    let mut tally = Tally::new(&[placement]);
    let mut reader = Jiter::new(&list);
    let find = |key: &str| (key == "items").then_some(());
    object(&mut reader, find, |reader, ()| items(reader, &mut tally))?;
    reader.finish()?;
    Ok(tally.finish())
}

fn items(reader: &mut Jiter<'_>, tally: &mut Tally<'_, '_>) -> JiterResult<()> {
    tally.restart();
    let mut next = match reader.peek()? {
        Peek::Null => return reader.known_null(),
        _ => reader.next_array()?,
    };
    while next.is_some() {
        object(
            reader,
            one_of(["metadata", "status"]),
            |reader, field| match field {
                0 => metadata(reader, tally),
                _ => object(reader, one_of(["nodeInfo"]), |reader, _| {
                    object(reader, one_of(["architecture"]), |reader, _| {
                        tally.node.architecture = text(reader)?;
                        Ok(())
                    })
                }),
            },
        )?;
        tally.count();
        next = reader.array_step()?;
    }
    Ok(())
}

fn metadata(reader: &mut Jiter<'_>, tally: &mut Tally<'_, '_>) -> JiterResult<()> {
    tally.node.name = None;
    tally.node.labels.clear();
    object(reader, one_of(["name", "labels"]), |reader, field| {
        if field == 0 {
            tally.node.name = text(reader)?;
            return Ok(());
        }
        let Tally { keys, node, .. } = &mut *tally;
        node.labels.clear();
        object(
            reader,
            |key| keys.find(key.as_bytes()),
            |reader, slot| {
                node.labels.set(slot, text(reader)?.unwrap_or_default());
                Ok(())
            },
        )
    })
}

fn one_of<const N: usize>(names: [&'static str; N]) -> impl Fn(&str) -> Option<usize> {
    move |key| names.iter().position(|name| *name == key)
}

fn object<'a, T>(
    reader: &mut Jiter<'a>,
    find: impl Fn(&str) -> Option<T>,
    mut member: impl FnMut(&mut Jiter<'a>, T) -> JiterResult<()>,
) -> JiterResult<()> {
    let mut key = match reader.peek()? {
        Peek::Null => return reader.known_null(),
        _ => reader.next_object()?,
    };
    while let Some(name) = key {
        match find(name) {
            Some(found) => member(reader, found)?,
            None => reader.next_skip()?,
        }
        key = reader.next_key()?;
    }
    Ok(())
}

fn text(reader: &mut Jiter<'_>) -> JiterResult<Option<Cow<'static, str>>> {
    match reader.peek()? {
        Peek::Null => reader.known_null().map(|()| None),
        _ => Ok(Some(Cow::Owned(reader.next_str()?.to_owned()))),
    }
}

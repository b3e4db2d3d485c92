//! `hifijson`: a lexer over the slice.

use std::borrow::Cow;

use engine::node::{Census, Nodes as _, Tally};
use engine::placement::Placement;
use hifijson::str::LexAlloc as _;
use hifijson::token::Lex as _;
use hifijson::{Error, Expect, Read as _, SliceLexer, ignore};

use crate::Result;

type Lexer<'a> = SliceLexer<'a>;

pub(crate) fn census(list: Vec<u8>, placement: &Placement) -> Result<Vec<Census>> {
    let mut tally = Tally::new(&[placement]);
    let mut lexer = SliceLexer::new(&list);
    let read = lexer.exactly_one(Lexer::ws_peek, |next, lexer| {
        object(next, lexer, |key, next, lexer| match key {
            "items" => {
                tally.restart();
                items(next, lexer, &mut tally)
            }
            _ => ignore::parse(next, lexer),
        })
    });
    read.map_err(|error: Error| error.to_string())?;
    Ok(tally.finish())
}

fn items<'a>(next: u8, lexer: &mut Lexer<'a>, tally: &mut Tally<'a, '_>) -> Result<(), Error> {
    if next != b'[' {
        return null(next, lexer);
    }
    lexer.take_next();
    lexer.seq(b']', Lexer::ws_peek, |next, lexer| {
        object(next, lexer, |key, next, lexer| match key {
            "metadata" => metadata(next, lexer, tally),
            "status" => object(next, lexer, |key, next, lexer| match key {
                "nodeInfo" => object(next, lexer, |key, next, lexer| match key {
                    "architecture" => {
                        tally.node.architecture = text(next, lexer)?;
                        Ok(())
                    }
                    _ => ignore::parse(next, lexer),
                }),
                _ => ignore::parse(next, lexer),
            }),
            _ => ignore::parse(next, lexer),
        })?;
        tally.count();
        Ok(())
    })
}

fn metadata<'a>(next: u8, lexer: &mut Lexer<'a>, tally: &mut Tally<'a, '_>) -> Result<(), Error> {
    tally.node.name = None;
    tally.node.labels.clear();
    object(next, lexer, |key, next, lexer| match key {
        "name" => {
            tally.node.name = text(next, lexer)?;
            Ok(())
        }
        "labels" => {
            tally.node.labels.clear();
            object(next, lexer, |key, next, lexer| {
                match tally.keys.find(key.as_bytes()) {
                    Some(slot) => {
                        let value = text(next, lexer)?.unwrap_or_default();
                        tally.node.labels.set(slot, value);
                        Ok(())
                    }
                    None => ignore::parse(next, lexer),
                }
            })
        }
        _ => ignore::parse(next, lexer),
    })
}

fn object<'a>(
    next: u8,
    lexer: &mut Lexer<'a>,
    mut member: impl FnMut(&str, u8, &mut Lexer<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    if next != b'{' {
        return null(next, lexer);
    }
    lexer.take_next();
    lexer.seq(b'}', Lexer::ws_peek, |next, lexer| {
        lexer.expect(|_| Some(next), b'"').ok_or(Expect::String)?;
        let key = lexer.str_string().map_err(Error::Str)?;
        lexer.expect(Lexer::ws_peek, b':').ok_or(Expect::Colon)?;
        let next = lexer.ws_peek().ok_or(Expect::Value)?;
        member(&key, next, lexer)
    })
}

fn text<'a>(next: u8, lexer: &mut Lexer<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    if next != b'"' {
        return null(next, lexer).map(|()| None);
    }
    lexer.take_next();
    Ok(Some(lexer.str_string().map_err(Error::Str)?))
}

fn null(next: u8, lexer: &mut Lexer<'_>) -> Result<(), Error> {
    match next {
        b'n' => ignore::parse(next, lexer),
        _ => Err(Expect::Value)?,
    }
}

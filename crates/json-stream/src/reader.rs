//! The reader.

use crate::block::{BLOCK, special_in};
use crate::scalar::{end_of_digits, end_of_scalar};
use crate::text::Text;
use crate::{Error, Kind};

/// The maximum nesting depth of a skipped value. The innermost level does not count if it is empty.
pub const MAX_DEPTH: u32 = u64::BITS;

/// Reads a document from its start to its end.
///
/// Every method reads one value, and the caller uses [`kind`](Self::kind) to choose the method.
/// After an [`Error`], the reader is near the position of the error, and nothing else can be read.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The special bytes of the block that starts at `block`, one bit for each byte, the first byte in the lowest bit. The
    /// block never starts after `at`, but `at` can be after the block.
    special: u64,
    block: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of a document.
    pub fn new(document: &'a [u8]) -> Self {
        Self {
            bytes: document,
            at: 0,
            special: special_in(document, 0),
            block: 0,
        }
    }

    /// The number of bytes that were read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Whether only whitespace is left.
    pub fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The kind of the next value, determined by its first byte.
    ///
    /// # Errors
    ///
    /// If no value starts here.
    pub fn kind(&mut self) -> Result<Kind, Error> {
        match self.peek().ok_or(Error::UnexpectedEnd)? {
            b'n' => Ok(Kind::Null),
            b't' | b'f' => Ok(Kind::Boolean),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b'"' => Ok(Kind::String),
            b'[' => Ok(Kind::List),
            b'{' => Ok(Kind::Object),
            _ => Err(Error::Syntax),
        }
    }

    /// Reads an object.
    ///
    /// `find` is called with every key, in the order of the document. It returns the meaning of the key, or `None`
    /// to skip its value. `member` is called with this result and must read the value. A key that occurs
    /// several times is found several times.
    ///
    /// # Errors
    ///
    /// If the next value is not an object, or if `find` or `member` returns an error.
    pub fn object<T, E: From<Error>>(
        &mut self,
        find: impl Fn(Text<'a>) -> Result<Option<T>, Error>,
        mut member: impl FnMut(&mut Self, T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{')?;
        let mut is_first = true;
        loop {
            let mut found = None;
            self.seek(is_first, &mut |key| {
                found = find(key)?;
                Ok(found.is_some())
            })?;
            match found {
                Some(found) => member(self, found)?,
                None => return Ok(()),
            }
            is_first = false;
        }
    }

    /// Reads a list. `item` is called for every item and must read it.
    ///
    /// # Errors
    ///
    /// If the next value is not a list, or if `item` returns an error.
    pub fn list<E: From<Error>>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'[')?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.take()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return Err(Error::Syntax.into()),
            }
        }
    }

    /// Reads a string.
    ///
    /// # Errors
    ///
    /// If the next value is not a string.
    pub fn text(&mut self) -> Result<Text<'a>, Error> {
        self.expect(b'"')?;
        self.text_body()
    }

    /// Reads a value of any kind and discards it. Everything is validated, except that strings are UTF-8 and
    /// that `\u` escapes represent characters.
    ///
    /// # Errors
    ///
    /// If the next value is not valid, or nested more than [`MAX_DEPTH`] levels deep.
    pub fn skip(&mut self) -> Result<(), Error> {
        // The open containers, the innermost in the lowest bit: 1 is an object, 0 is a list.
        let mut open = 0_u64;
        let mut depth = 0;
        let mut is_key = false;
        loop {
            let first = self.take()?;
            match first {
                b'"' => {
                    self.text_body()?;
                    if is_key {
                        self.expect(b':')?;
                        is_key = false;
                        continue;
                    }
                }
                _ if is_key => return Err(Error::Syntax),
                b'{' | b'[' => {
                    let is_object = first == b'{';
                    if self.peek() == Some(if is_object { b'}' } else { b']' }) {
                        self.at += 1;
                    } else if depth == MAX_DEPTH {
                        return Err(Error::TooDeep);
                    } else {
                        depth += 1;
                        open = open << 1 | u64::from(is_object);
                        is_key = is_object;
                        continue;
                    }
                }
                _ => self.at = end_of_scalar(self.bytes, self.at, first)?,
            }
            // A value is complete. A comma continues its container. A bracket ends the container, which is
            // then a complete value itself.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let is_object = open & 1 == 1;
                match self.take()? {
                    b',' => {
                        is_key = is_object;
                        break;
                    }
                    b'}' if is_object => {}
                    b']' if !is_object => {}
                    _ => return Err(Error::Syntax),
                }
                depth -= 1;
                open >>= 1;
            }
        }
    }

    /// Reads up to the value of the next requested key, or to the end of the object.
    ///
    /// Not generic, so that this code is compiled only once, with the options of this crate.
    fn seek(
        &mut self,
        mut is_first: bool,
        is_wanted: &mut dyn FnMut(Text<'a>) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        loop {
            let mut byte = self.take()?;
            if byte == b'}' {
                return Ok(());
            }
            if !is_first {
                if byte != b',' {
                    return Err(Error::Syntax);
                }
                byte = self.take()?;
            }
            if byte != b'"' {
                return Err(Error::Syntax);
            }
            is_first = false;
            let key = self.text_body()?;
            self.expect(b':')?;
            if is_wanted(key)? {
                return Ok(());
            }
            // Most values are strings. Handling them here saves the call of `skip`.
            if self.peek() == Some(b'"') {
                self.at += 1;
                self.text_body()?;
            } else {
                self.skip()?;
            }
        }
    }

    /// Reads a string after its opening quote.
    #[expect(clippy::inline_always, reason = "measured: twice the time otherwise")]
    #[inline(always)]
    fn text_body(&mut self) -> Result<Text<'a>, Error> {
        let start = self.at;
        let mut is_escaped = false;
        loop {
            self.reach_special();
            match self.next_byte()? {
                b'"' => {
                    let raw = self.bytes.get(start..self.at - 1).unwrap_or_default();
                    return Ok(Text::new(raw, is_escaped));
                }
                b'\\' => {
                    is_escaped = true;
                    match self.next_byte()? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        b'u' => self.at = end_of_digits(self.bytes, self.at)?,
                        _ => return Err(Error::Syntax),
                    }
                }
                // A control character.
                _ => return Err(Error::Syntax),
            }
        }
    }

    /// Goes to the next special byte, or to the end of the document.
    #[expect(
        clippy::inline_always,
        reason = "measured: 1.2 times the time otherwise"
    )]
    #[inline(always)]
    fn reach_special(&mut self) {
        loop {
            let offset = self.at.wrapping_sub(self.block);
            if offset < BLOCK {
                let ahead = self.special >> offset;
                if ahead != 0 {
                    self.at += ahead.trailing_zeros() as usize;
                    return;
                }
                self.at = self.block + BLOCK;
            }
            if self.at >= self.bytes.len() {
                self.at = self.bytes.len();
                return;
            }
            self.block = self.at;
            self.special = special_in(self.bytes, self.at);
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.take()? == byte {
            Ok(())
        } else {
            Err(Error::Syntax)
        }
    }

    /// Reads the next byte that is not whitespace.
    fn take(&mut self) -> Result<u8, Error> {
        loop {
            match self.next_byte()? {
                b' ' | b'\n' | b'\r' | b'\t' => {}
                byte => return Ok(byte),
            }
        }
    }

    /// Skips whitespace and returns the byte after it, without reading that byte.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn next_byte(&mut self) -> Result<u8, Error> {
        let byte = self.bytes.get(self.at).ok_or(Error::UnexpectedEnd)?;
        self.at += 1;
        Ok(*byte)
    }
}

//! Attributes that shardc keeps but does not interpret.

/// An attribute value. Kinds that no pass inspects are [`Attr::Raw`] text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attr {
    /// `unit`, printed as the bare name.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// An integer and its type: `8 : i32`. The type text is empty if none was written.
    Int(i64, Box<str>),
    /// A string, unescaped.
    Str(Box<str>),
    /// `[a, b]`.
    Array(Vec<Attr>),
    /// `{name = value}`.
    Dict(AttrDict),
    /// `@name`.
    Symbol(Box<str>),
    /// Anything else, verbatim and with aliases expanded.
    Raw(Box<str>),
}

/// Named attributes in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AttrDict(Vec<(Box<str>, Attr)>);

impl AttrDict {
    /// Creates an empty dictionary, without an allocation.
    #[must_use]
    pub const fn new() -> Self {
        AttrDict(Vec::new())
    }

    /// Returns the value of the attribute `name`, if present.
    #[must_use]
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.iter().find(|(n, _)| &**n == name).map(|(_, attr)| attr)
    }

    /// Sets the attribute `name`: replaces its value if the attribute is present, and appends the attribute otherwise.
    pub fn set(&mut self, name: &str, attr: Attr) {
        match self.0.iter_mut().find(|(n, _)| &**n == name) {
            Some((_, old)) => *old = attr,
            None => self.0.push((name.into(), attr)),
        }
    }

    /// Removes and returns the value of `name`.
    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        let at = self.0.iter().position(|(n, _)| &**n == name)?;
        Some(self.0.remove(at).1)
    }

    /// Removes the attributes for whose names `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// The names and values of the attributes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attr)> {
        self.0.iter().map(|(name, attr)| (&**name, attr))
    }

    /// The number of attributes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the dictionary is empty.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Box<str>, Attr)> for AttrDict {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Attr)>>(iter: I) -> Self {
        AttrDict(iter.into_iter().collect())
    }
}

//! A page's tags, read as strictly as the templates write them: attributes in double quotes, no comments.

/// One tag; the name of a closing one begins with `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub name: String,
    pub attributes: Vec<(String, String)>,
}

impl Tag {
    pub fn get(&self, attribute: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == attribute).map(|(_, value)| value.as_str())
    }
}

/// All tags of a page, the doctype left out. What is inside of a style is no markup.
pub fn tags(page: &str) -> Vec<Tag> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    let mut tags = Vec::new();
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = tag(after);
        rest = after;
        if tag.name == "style" {
            rest = &rest[rest.find("</style>").expect("an end of the styles")..];
        }
        tags.push(tag);
    }
    tags
}

/// The tag that `text` begins with, and what follows it.
fn tag(text: &str) -> (Tag, &str) {
    let end = text.find([' ', '>']).expect("an end of the tag");
    let (name, mut rest) = text.split_at(end);
    assert!(name.trim_start_matches('/').chars().all(|c| c.is_ascii_alphanumeric()), "a tag <{name}");
    let mut attributes = Vec::new();
    while let Some(attribute) = rest.strip_prefix(' ') {
        let (name, after) = attribute.split_once("=\"").expect("a value");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "an attribute {name}");
        let (value, after) = after.split_once('"').expect("an end of the value");
        attributes.push((name.to_owned(), value.to_owned()));
        rest = after;
    }
    (Tag { name: name.to_owned(), attributes }, rest.strip_prefix('>').expect("an end of the tag"))
}

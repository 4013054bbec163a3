//! JUnit's XML, which continuous integration reads: rows as test cases.

use std::io;

use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

use crate::plain::plain;

/// A suite of test cases.
pub struct TestSuite {
    /// Its name.
    pub name: &'static str,
    /// Facts about all of it.
    pub properties: Vec<(&'static str, String)>,
    /// Its cases.
    pub cases: Vec<TestCase>,
}

/// A row as a test case.
pub struct TestCase {
    /// The name of the row.
    pub name: String,
    /// The length of its measurement, if known.
    pub seconds: Option<f64>,
    /// Its figures as text.
    pub output: String,
    /// The outcome of the test case.
    pub verdict: TestOutcome,
}

/// The outcome of a test case, with the reason.
pub enum TestOutcome {
    /// It passed.
    Passed,
    /// It failed.
    Failed(String),
    /// It could not be judged.
    Skipped(String),
}

impl TestSuite {
    /// The document, which ends in a line feed.
    ///
    /// # Panics
    /// Never: writes to memory do not fail, and the output is text.
    pub fn text(&self) -> String {
        let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
        self.write(&mut writer).expect("memory takes every byte");
        let mut text = String::from_utf8(writer.into_inner()).expect("only text is written");
        text.push('\n');
        text
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let suites = self.counted(writer.create_element("testsuites"));
        suites.write_inner_content(|writer| {
            let suite = self.counted(writer.create_element("testsuite"));
            suite.write_inner_content(|writer| self.content(writer))?;
            Ok(())
        })?;
        Ok(())
    }

    /// An element with the name and the number of cases of each outcome.
    fn counted<'a>(&self, element: Element<'a>) -> Element<'a> {
        let count = |is: fn(&TestOutcome) -> bool| {
            self.cases.iter().filter(|case| is(&case.verdict)).count().to_string()
        };
        let failures = count(|verdict| matches!(verdict, TestOutcome::Failed(_)));
        let skipped = count(|verdict| matches!(verdict, TestOutcome::Skipped(_)));
        element.with_attributes([
            ("name", self.name),
            ("tests", self.cases.len().to_string().as_str()),
            ("failures", failures.as_str()),
            ("errors", "0"),
            ("skipped", skipped.as_str()),
        ])
    }

    fn content(&self, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        writer.create_element("properties").write_inner_content(|writer| {
            for (name, value) in &self.properties {
                let property = writer.create_element("property");
                property
                    .with_attributes([("name", *name), ("value", harmless(value).as_str())])
                    .write_empty()?;
            }
            Ok(())
        })?;
        self.cases.iter().try_for_each(|case| case.write(self.name, writer))
    }
}

/// An element of a document that is written to memory.
type Element<'a> = quick_xml::writer::ElementWriter<'a, Vec<u8>>;

impl TestCase {
    fn write(&self, suite: &str, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        let mut case = writer.create_element("testcase");
        case =
            case.with_attributes([("classname", suite), ("name", harmless(&self.name).as_str())]);
        if let Some(seconds) = self.seconds {
            case = case.with_attribute(("time", format!("{seconds:.6}").as_str()));
        }
        case.write_inner_content(|writer| self.content(writer))?;
        Ok(())
    }

    fn content(&self, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        match &self.verdict {
            TestOutcome::Passed => {}
            TestOutcome::Failed(reason) => {
                let reason = harmless(reason);
                let failure = writer.create_element("failure");
                let failure = failure.with_attribute(("message", reason.as_str()));
                failure.write_text_content(BytesText::new(&reason))?;
            }
            TestOutcome::Skipped(reason) => {
                let skipped = writer.create_element("skipped");
                skipped.with_attribute(("message", harmless(reason).as_str())).write_empty()?;
            }
        }
        if !self.output.is_empty() {
            let output = harmless(&self.output);
            writer.create_element("system-out").write_text_content(BytesText::new(&output))?;
        }
        Ok(())
    }
}

/// Text on one line, without the two characters besides control characters that XML cannot represent.
fn harmless(text: &str) -> String {
    plain(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

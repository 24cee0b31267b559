package policy

import (
	"encoding/xml"
	"io"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit XML, which CI systems read, with one suite
// for each file of cases.
func (r *Report) JUnit(w io.Writer) error {
	all := junitSuites{Tests: len(r.Results), Failures: len(r.Failed())}
	for _, result := range r.Results {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != result.File {
			all.Suites = append(all.Suites, junitSuite{Name: result.File})
		}
		all.Suites[len(all.Suites)-1].add(result)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(r Result) {
	c := junitCase{Name: r.Name, Class: r.File, File: r.File, Line: r.Line}
	if r.Diff != "" {
		s.Failures++
		c.Failure = &junitFailure{
			Message: "want " + r.Want.String() + ", got " + r.Got.String(),
			Text:    r.Diff + "reason: " + r.Reason + "\n",
		}
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

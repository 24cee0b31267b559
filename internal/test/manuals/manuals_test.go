package manuals

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/google/go-cmp/cmp"
)

// spellings holds pieces of manual pages with the options in them and their
// values.
var spellings = []struct{ name, page, want string }{
	{"help2man", ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR=\\fI\\,FILE\\/\\fR\nwrite to FILE", "-o=required --output=required"},
	{"optional value", ".TP\n\\fB\\-\\-color\\fR[=\\fI\\,WHEN\\/\\fR]\nx", "--color=optional"},
	{"only the long name takes it", ".TP\n\\fB\\-F\\fR, \\fB\\-\\-classify\\fR[=\\fI\\,WHEN\\/\\fR]\nx", "-F=none --classify=optional"},
	{"both ways", ".TP\n\\fB\\-c\\fR, \\fB\\-\\-check\\fR, \\fB\\-\\-check\\fR=\\fI\\,first\\/\\fR\nx", "-c=none --check=none,optional,required"},
	{"macros", ".TP\n.BI \\-f \" file\" \\fR, \" \" \\-\\-from= file\nx", "-f=required --from=required"},
	{"attached", ".TP\n.BI \\-j n\nx", "-j=attached"},
	{"docbook", ".PP\n\\-\\-[no\\-]signed\n.RS 4\nx", "--signed=none --no-signed=none"},
	{"docbook value", ".PP\n\\-\\-depth=<n>\n.RS 4\nx", "--depth=required"},
	{"item", ".IP \"\\-d, \\-\\-data <data>\"\nx", "-d=required --data=required"},
	{"item behind a bullet", ".IP \"\\[ci]\" 4\n\\fB\\-\\-seq\\fR:\n.IP\nx", "--seq=none"},
	{"mdoc", ".It Fl b Ar bits\nx\n.It Fl A , -all\nx", "-b=required -A=none --all=none"},
	{"mdoc optional", ".It Fl l Op Ar list\nx", "-l=perhaps"},
	{"goes on in the next line", ".TP 8\n.B \\-h \\c\n.IR HOST \", \"\\c\n.BI \\-\\-host= HOST\nx", "-h=required --host=required"},
	{"prose is no value", ".TP\n\\fB\\-\\-save\\fR will tell it to remove the package\nx", "--save=none"},
	{"prose is no tag", ".PP\n\\fB\\-l\\fR lists all of them,\nwith their names.", ""},
	{"no option", ".TP\nname\nx", ""},
}

func TestOptions(t *testing.T) {
	for _, test := range spellings {
		if got := show(Options(test.page)); got != test.want {
			t.Errorf("%s (-want +got):\n%s", test.name, cmp.Diff(test.want, got))
		}
	}
}

func show(options []Option) string {
	var all []string
	for _, o := range options {
		var values []string
		for _, v := range o.Values {
			values = append(values, [...]string{"invalid", "none", "required", "optional", "perhaps", "attached"}[v])
		}
		all = append(all, o.Name+"="+strings.Join(values, ","))
	}
	return strings.Join(all, " ")
}

func TestFind(t *testing.T) {
	for page, want := range map[string]string{
		"sort": "sort", "git-log": "git log", "git-cherry-pick": "git cherry-pick", "ssh-keygen": "ssh-keygen",
		"gh-release-delete-asset": "gh release delete-asset", "no-such-page": "",
	} {
		e, ok := Find(page)
		if got := strings.Join(e.Words, " "); ok != (want != "") || ok && got != want {
			t.Errorf("%s is found as %q, want %q", page, got, want)
		}
	}
}

// TestCheck checks that an unlisted name is a fault, and so is a value that is
// listed but not shown, or shown but not listed.
func TestCheck(t *testing.T) {
	e := Entry{Words: []string{"x"}, Chain: []*program.Program{{Options: []program.Option{
		{Names: []string{"-a", "--all"}},
		{Names: []string{"-o", "--output"}, Value: program.Required},
		{Names: []string{"--color"}, Value: program.Optional},
		{Names: []string{"-#"}},
	}}}}
	for option, want := range map[string]string{
		"-a": "", "-b": "-b: not listed no value", "--output=F": "", "-o": "-o: listed with a value, the page shows no value",
		"-a F": "-a: listed without a value, the page shows a value", "--color[=W]": "", "-7": "", "-NUM": "",
		"--color=W": "--color: listed with an attached value, the page shows a value",
	} {
		got := ""
		for _, f := range e.Check(readTag(option)) {
			got += f.String()
		}
		if got != want {
			t.Errorf("%s (-want +got):\n%s", option, cmp.Diff(want, got))
		}
	}
}

// TestTables checks that the pages of packages are about programs of the
// catalogue, and quirks about pages that are compared.
func TestTables(t *testing.T) {
	all := map[string]bool{}
	for pkg, list := range pages {
		for name := range strings.FieldsSeq(list) {
			all[name] = true
			if !wanted(pkg, strings.Replace(name, "*", "x", 1)) || wanted(pkg, name+"x") && !strings.HasSuffix(name, "*") {
				t.Errorf("%s of %s is not found in the table", name, pkg)
			}
			if _, ok := Find(name); !ok && !strings.HasSuffix(name, "*") {
				t.Errorf("the catalogue has no entry for the page %s", name)
			}
		}
	}
	for _, q := range quirks {
		for page := range q.pages {
			if first, _, _ := strings.Cut(page, "-"); !all[page] && !all[first+"-*"] {
				t.Errorf("%s is explained and not compared", page)
			}
		}
	}
}

func TestExplained(t *testing.T) {
	if explained("sort", Fault{Option: "-C"}) == "" || explained("sort", Fault{Option: "-o"}) != "" || explained("none", Fault{Option: "-C"}) != "" {
		t.Error("a fault is explained by its page and its option")
	}
}

func FuzzOptions(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		for _, o := range Options(page) {
			if len(o.Name) < 2 || o.Name[0] != '-' || len(o.Values) == 0 {
				t.Errorf("%q gives the option %+v", page, o)
			}
		}
	})
}

package shell

import (
	"slices"
	"testing"
)

// TestURLsAreFetched checks that a URL among the words of a program that may fetch it
// is a fetch wherever it stands, and that one that is only printed or part of a text
// is not. A program that follows redirects fetches from an unknown host as well.
func TestURLsAreFetched(t *testing.T) {
	const host = "https://h.example/x"
	for line, want := range map[string][]string{
		"npm install https://h.example/x":                {host},
		"npm --registry=https://h.example/x install":     {host},
		"npm --registry https://h.example/x install":     {host},
		"pip install git+https://h.example/x":            {host},
		"pip install -i https://h.example/x y":           {host},
		"npm install y@https://h.example/x":              {host},
		"git clone https://h.example/x":                  {host},
		"git fetch https://h.example/x":                  {host},
		"kubectl apply -f https://h.example/x":           {host},
		"unheard-of --from=https://h.example/x":          {host},
		"./own.sh https://h.example/x":                   {host},
		"curl https://h.example/x":                       {host},
		"curl -x https://h.example/x https://i":          {"https://i", host},
		"curl -L https://h.example/x":                    {host, "…"},
		"curl -sSLo out https://h.example/x":             {host, "…"},
		"curl --location https://h.example/x":            {host, "…"},
		"wget -O - https://h.example/x":                  {host, "…"},
		"wget -O - --max-redirect=0 https://h.example/x": {host},
		"echo https://h.example/x":                       nil,
		"grep https://h.example/x a.txt":                 nil,
		"git commit -m 'see https://h.example/x'":        nil,
		"unheard-of file:///etc/passwd":                  nil,
		"unheard-of a/b://c":                             nil,
		"unheard-of ://c":                                nil,
	} {
		var got []string
		for _, a := range analyze(line).Actions {
			if a.Kind == Fetch {
				got = append(got, show(&a.Path))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: fetches %q, want %q", line, got, want)
		}
	}
}

// TestWgetNames checks that wget saves under the last part of the URL unless an
// option changes that.
func TestWgetNames(t *testing.T) {
	for line, want := range map[string][]string{
		"wget https://h/a.tgz":            {"/home/dev/proj/a.tgz", "/home/dev/proj/a.tgz.…"},
		"wget h/x/":                       {"/home/dev/proj/index.html", "/home/dev/proj/index.html.…"},
		"wget h":                          {"/home/dev/proj/index.html", "/home/dev/proj/index.html.…"},
		"wget -q https://h/a https://h/b": {"/home/dev/proj/a", "/home/dev/proj/a.…", "/home/dev/proj/b", "/home/dev/proj/b.…"},
		"wget --content-disposition https://h/a.tgz": {"/home/dev/proj/…"},
		"wget -r https://h/a.tgz":                    {"/home/dev/proj/…"},
		"wget https://h/$x":                          {"/home/dev/proj/…"},
		"wget https://h/%2e%2e":                      {"/home/dev/proj/…"},
		"wget -O - https://h/a":                      nil,
	} {
		var got []string
		for _, a := range analyze(line).Actions {
			if a.Kind == Write {
				got = append(got, show(&a.Path))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: writes %q, want %q", line, got, want)
		}
	}
}

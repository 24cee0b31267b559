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

// TestHostedWords checks that the host with which a module, an image, a repository or a
// package begins is fetched from, and that names without one are not.
func TestHostedWords(t *testing.T) {
	const host = "https://h.example/"
	for line, want := range map[string][]string{
		"go mod download h.example/x":              {host},
		"go mod download h.example/x@v1.2.3":       {host},
		"go mod download":                          nil,
		"go get h.example@latest":                  {host},
		"go get h.example/x ./...":                 {host},
		"go install h.example/x@latest":            {host},
		"go run h.example/x@latest h.other/y@v1":   {host},
		"go run main.go":                           nil,
		"go list -m h.example/x@latest":            {host},
		"go list -m -versions h.example/x":         {host},
		"go list -m -u all":                        nil,
		"go list -m all":                           nil,
		"go list h.example/own/...":                nil,
		"go mod why h.example/x":                   nil,
		"gh pr list -R h.example/a/b":              {host},
		"gh pr list --repo=h.example/a/b":          {host},
		"gh pr list -R a/b":                        nil,
		"gh repo view h.example/a/b":               {host},
		"gh repo view a/b":                         nil,
		"gh auth status --hostname h.example":      {host},
		"docker pull h.example/x":                  {host},
		"docker pull h.example:5000/x:1":           {"https://h.example:5000/"},
		"docker pull nginx:1.27":                   nil,
		"docker run --rm h.example/x ls h.other/y": {host},
		"docker run --rm nginx ls h.example/x":     nil,
		"docker image inspect h.example/x":         nil,
		"docker login h.example":                   {host},
		"podman push x h.example/x":                {host},
		"crane ls h.example/x":                     {host},
		"crane validate --remote h.example/x":      {host},
		"npm view a/b":                             {"https://github.com/"},
		"npm view x@github:a/b":                    {"https://github.com/"},
		"npm view x@gitlab:a/b":                    {"https://gitlab.com/"},
		"npm view git@h.example:a/b":               {host},
		"npm view x@npm:y@1":                       nil,
		"npm view react@18 version":                nil,
		"npm view @babel/core":                     nil,
		"npm view @babel/core@latest":              nil,
		`docker pull "$image"`:                     {"https://…"},
		`docker pull h.example/x:"$tag"`:           {host},
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

// TestOfflineUses checks which uses of package managers ask no registry.
func TestOfflineUses(t *testing.T) {
	for line, asks := range map[string]bool{
		"pnpm lint":                           false,
		"pnpm s react":                        true,
		"pnpm v react":                        true,
		"pnpm login":                          true,
		"yarn lint":                           false,
		"yarn licenses list":                  true,
		"pip show x":                          false,
		"pip uninstall -y x":                  false,
		"pip uninstall --unheard x":           true,
		"pip uninstall -r https://h/r.txt":    true,
		"uv cache dir":                        false,
		"uv version --bump minor":             true,
		"uv pip uninstall x":                  false,
		"uv pip uninstall -r https://h/r.txt": true,
		"pixi list":                           true,
		"dotnet help":                         false,
		"dotnet clean":                        true,
		"dotnet sln add x":                    true,
		"cargo pkgid":                         false,
	} {
		if got, ok := analyze(line).Actions[0].Asks(); (ok && !got.Seldom) != asks {
			t.Errorf("%s: asks %t, want %t", line, ok && !got.Seldom, asks)
		}
	}
	for line, seldom := range map[string]bool{
		"npm ls": true, "npm query :outdated": false, "npm find-dupes": false, "npm version patch": true,
		"npm version patch -w a": false, "npm version patch --workspaces": false,
	} {
		if got, ok := analyze(line).Actions[0].Asks(); !ok || got.Seldom != seldom {
			t.Errorf("%s: seldom %t, want %t", line, got.Seldom, seldom)
		}
	}
}

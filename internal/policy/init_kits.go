package policy

// kits holds the rules of a starting policy for each kit. What builds, tests,
// checks or formats is allowed; what publishes, deploys, migrates or installs is
// asked about. What only looks is in neither: it runs by its tier.
var kits = []Kit{
	{
		Name: "Go", about: "building, testing, running, formatting", marks: []string{"go.mod", "go.work"},
		allow: []string{
			"go build:*", "go test:*", "go vet:*", "go run . *", "go run ./*", "go generate:*", "go fmt:*", "go tool:*", "go mod download:*", "go mod verify",
			"go mod graph", "go mod why:*", "gofmt:*", "goimports:*", "gofumpt:*", "golangci-lint run:*", "golangci-lint fmt:*", "staticcheck:*", "mockgen:*",
		},
		ask:   []string{"go get:*", "go install:*", "go mod tidy:*"},
		hosts: []string{"pkg.go.dev", "go.dev"},
	},
	{
		Name: "Buf", about: "checking and generating", marks: []string{"buf.yaml", "buf.gen.yaml", "buf.work.yaml"},
		allow: []string{"buf lint:*", "buf build:*", "buf breaking:*", "buf format:*", "buf generate:*", "buf --version"}, ask: []string{"buf push:*"},
	},
	{Name: "sqlc", about: "checking and generating", marks: []string{"sqlc.yaml", "sqlc.yml", "sqlc.json"}, allow: []string{"sqlc generate", "sqlc vet:*", "sqlc diff", "sqlc compile"}},
	{
		Name: "JavaScript", about: "local scripts, and the project's tools", marks: []string{"package.json"},
		own: javaScript, hosts: []string{"developer.mozilla.org", "nodejs.org"},
	},
	{
		Name: "Deno", about: "local tasks, testing, checking, formatting", marks: []string{"deno.json", "deno.jsonc"},
		allow: []string{"deno test:*", "deno check:*", "deno lint:*", "deno fmt:*"}, ask: []string{"deno publish:*", "deno install:*"}, own: denoTasks, hosts: []string{"docs.deno.com"},
	},
	{
		Name: "Python", about: "files and modules of the project, tests, checks", marks: []string{"pyproject.toml", "setup.py", "requirements*.txt", "uv.lock", "Pipfile"},
		own: python, hosts: []string{"docs.python.org", "packaging.python.org"},
	},
	{
		Name: "Rust", about: "building, testing, running, formatting", marks: []string{"Cargo.toml"},
		allow: []string{
			"cargo build:*", "cargo check:*", "cargo test:*", "cargo nextest run:*", "cargo run", "cargo run --release", "cargo bench:*", "cargo clippy:*", "cargo fmt:*", "cargo doc:*",
			"cargo tree:*", "cargo metadata:*",
		},
		ask: []string{"cargo add:*", "cargo install:*", "cargo publish:*"}, own: cargoTasks, hosts: []string{"doc.rust-lang.org", "docs.rs"},
	},
	{
		Name: "Ruby", about: "files of the project, tests, checks", marks: []string{"Gemfile"},
		own: ruby, ask: []string{"bundle install:*", "bundle update:*", "gem push:*"}, hosts: []string{"docs.ruby-lang.org", "rubydoc.info"},
	},
	{
		Name: "PHP", about: "local scripts, tests, checks", marks: []string{"composer.json"},
		own: php, ask: []string{"composer install:*", "composer update:*", "composer require:*"}, hosts: []string{"www.php.net"},
	},
	{
		Name: "Elixir", about: "building, testing, formatting", marks: []string{"mix.exs"},
		allow: []string{"mix compile:*", "mix test:*", "mix format:*", "mix credo:*", "mix dialyzer:*", "mix deps", "mix deps.tree:*", "mix phx.routes:*", "mix phx.server"},
		ask:   []string{"mix deps.get:*", "mix ecto.migrate:*", "mix ecto.rollback:*", "mix hex.publish:*"}, hosts: []string{"hexdocs.pm"},
	},
	{
		// These are exact rules, because further words would be further goals.
		Name: "Maven", about: "compiling and testing; other goals are asked about", marks: []string{"pom.xml"},
		allow: []string{"mvn test", "mvn -q test", "mvn compile", "mvn -q compile", "mvn verify", "mvn package", "./mvnw test", "./mvnw -q test", "./mvnw verify", "./mvnw package"},
		ask:   []string{"mvn deploy:*", "mvn install:*", "mvn release:*"}, hosts: []string{"docs.oracle.com", "maven.apache.org"},
	},
	{
		Name: "Gradle", about: "building and testing; other tasks are asked about", marks: []string{"build.gradle", "build.gradle.kts", "settings.gradle*"},
		allow: []string{
			"./gradlew build", "./gradlew test", "./gradlew check", "./gradlew assemble", "./gradlew assembleDebug", "./gradlew lint", "./gradlew tasks", "./gradlew dependencies",
			"gradle build", "gradle test", "gradle check",
		},
		ask: []string{"./gradlew publish:*", "gradle publish:*"}, hosts: []string{"docs.gradle.org", "docs.oracle.com", "kotlinlang.org"},
	},
	{
		Name: ".NET", about: "building, testing, running, formatting", marks: []string{"*.sln", "*.slnx", "*.csproj", "*.fsproj", "global.json"},
		allow: []string{"dotnet build:*", "dotnet test:*", "dotnet run", "dotnet format:*", "dotnet --info"},
		ask:   []string{"dotnet publish:*", "dotnet nuget push:*", "dotnet add:*"}, hosts: []string{"learn.microsoft.com"},
	},
	{
		Name: "Swift", about: "building, testing, running", marks: []string{"Package.swift"},
		allow: []string{"swift build:*", "swift test:*", "swift run:*", "swift format:*", "swift package describe:*", "swiftlint:*", "swiftformat:*", "swift --version"},
		hosts: []string{"docs.swift.org", "developer.apple.com"},
	},
	{
		Name: "Dart", about: "building, testing, formatting", marks: []string{"pubspec.yaml"},
		allow: []string{"dart analyze:*", "dart format:*", "dart test:*", "dart run build_runner build:*", "flutter analyze:*", "flutter test:*", "flutter build:*", "flutter doctor:*"},
		ask:   []string{"dart pub publish:*", "dart pub add:*", "flutter pub publish:*", "flutter pub add:*"}, hosts: []string{"api.flutter.dev", "dart.dev", "docs.flutter.dev"},
	},
	{
		// The option -D of cmake may name a compiler, so that it takes exact rules.
		Name: "CMake", about: "configuring in build, building, testing", marks: []string{"CMakeLists.txt"},
		allow: []string{
			"cmake -B build", "cmake -S . -B build", "cmake -B build -DCMAKE_BUILD_TYPE=Debug", "cmake -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build", "cmake --build build -j", "cmake --build build -j4", "cmake --build build -j8", "ctest:*",
			"clang-format:*", "clang-tidy:*",
		},
		ask: []string{"cmake --install:*"}, hosts: []string{"cmake.org", "en.cppreference.com"},
	},
	{Name: "make", about: "targets that stay on this machine", marks: []string{"Makefile", "makefile", "GNUmakefile"}, own: makeTargets},
	{Name: "just", about: "recipes that stay on this machine", marks: []string{"justfile", "Justfile", ".justfile"}, own: justRecipes},
	{Name: "mise", about: "tasks that stay on this machine", marks: []string{"mise.toml", ".mise.toml"}, own: miseTasks},
	{
		Name: "Docker", about: "", marks: []string{"Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"},
		ask: []string{"docker build:*", "docker run:*", "docker push:*", "docker compose up:*", "docker compose down:*"},
	},
	{
		Name: "Kubernetes", about: "", marks: []string{"Chart.yaml", "kustomization.yaml", "k8s", "charts", "helmfile.yaml", "skaffold.yaml"},
		ask: []string{"kubectl apply:*", "kubectl delete:*", "helm install:*", "helm upgrade:*", "helm uninstall:*"}, hosts: []string{"helm.sh", "kubernetes.io"},
	},
	{
		Name: "Terraform", about: "formatting", marks: []string{"*.tf"},
		allow: []string{"terraform fmt:*"}, ask: []string{"terraform apply:*", "terraform destroy:*", "terraform import:*", "terraform state:*"},
		hosts: []string{"developer.hashicorp.com", "registry.terraform.io"},
	},
}

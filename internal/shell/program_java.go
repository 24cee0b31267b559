package shell

import "strings"

// mvn handles Maven and Gradle. A property can name a program, code that is loaded,
// or a file that is written. A goal with a group and a version is a plugin that is
// fetched.
func (e *effector) mvn() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Names[0] != "-D" {
			continue
		}
		key, value, _ := strings.Cut(a.Value.Text, "=")
		file := cutWord(a.Value, len(a.Value.Text)-len(value))
		switch low := strings.ToLower(strings.TrimSpace(key)); {
		case low == "exec.executable":
			e.runMore(file, "property exec.executable", false)
		case javaSettings.has(low) || strings.HasSuffix(low, ".debug") || strings.HasSuffix(low, "classpath") || strings.HasSuffix(low, "argline") || strings.HasSuffix(low, "jvmargs") || strings.Contains(value, "-javaagent"):
			e.odd(causeProperty, key, e.prog.Name)
		case low == "output" || strings.HasPrefix(low, "output") || strings.HasSuffix(low, "outputfile") || strings.HasSuffix(low, "outputdirectory"):
			e.write(file, NeedCover, false, "property "+key)
		case low == "maven.repo.local":
			e.write(file, NeedOutside, false, "property "+key)
		}
	}
	for _, r := range e.operandWords(0) {
		if e.prog.Name != "gradle" && e.prog.Name != "gradlew" && strings.Count(r.Text, ":") >= 2 {
			e.unprovenLate(causeGoalFetched, show(&r))
		}
	}
}

// javaSettings lists the properties of Maven, its plugins and Gradle that name a
// program or code.
var javaSettings = set(
	"maven.ext.class.path", "maven.multimoduleprojectdirectory", "jvm", "exec.args", "exec.commandlineargs", "exec.classpathscope",
	"altdeploymentrepository", "org.gradle.java.home", "org.gradle.jvmargs", "java.home", "maven.compiler.executable", "maven.javadoc.executable",
)

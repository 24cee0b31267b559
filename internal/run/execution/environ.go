// Package execution provides what a command that a person runs gets, and what
// outlasts it: an environment without unrelated credentials, private files that
// are removed afterwards, and the rules of a session of several runs.
package execution

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// withheld are variables that a command gets only on request: cloud credentials
// and what selects among them. A name that ends in * is a prefix.
var withheld = []string{
	"AWS_*", "AZURE_*", "ARM_*", "MSI_*", "IDENTITY_*",
	"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN", "GOOGLE_API_KEY", "CLOUDSDK_*", "GCLOUD_*", "GCP_*",
	"ALIBABA_CLOUD_*", "ALICLOUD_*", "CLOUDFLARE_*", "CF_API_*", "DIGITALOCEAN_*", "DO_API_*", "EXOSCALE_*", "FASTLY_API_*", "FLY_API_TOKEN",
	"HCLOUD_*", "HEROKU_API_KEY", "HETZNER_*", "IBMCLOUD_*", "IC_API_KEY", "LINODE_*", "NETLIFY_AUTH_TOKEN", "OCI_*", "OS_*", "OVH_*",
	"PACKET_AUTH_TOKEN", "PM_API_*", "PROXMOX_*", "RAILWAY_TOKEN", "SCW_*", "TENCENTCLOUD_*", "UPCLOUD_*", "VERCEL_TOKEN", "VULTR_*",
	"CONSUL_HTTP_TOKEN", "NOMAD_TOKEN", "PULUMI_ACCESS_TOKEN", "TFE_TOKEN", "TF_TOKEN_*", "VAULT_TOKEN",
}

// never are variables that no command gets: they change the meaning of a line
// that was decided without them, or what our own programs allow.
var never = []string{
	"BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "BASH_LOADABLES_PATH", "CDPATH", "GLOBIGNORE", "FIGNORE", "EXECIGNORE", "PS4",
	"POSIXLY_CORRECT", "BASH_COMPAT", "BASH_XTRACEFD", "ZDOTDIR", "IFS",
	"LEX_BYPASS_COMMAND_VALIDATION",
}

// Environ returns the environment for a command, given that of this program,
// and the names of the credentials that were left out. keep names those to pass
// on. Relative directories of PATH are left out, so that no program is looked
// up in the current directory. The error names an entry of keep that must not
// be passed on.
func Environ(own, keep []string) (env, left []string, err error) {
	for _, name := range keep {
		switch {
		case name == "" || strings.ContainsAny(name, "=*\x00"):
			return nil, nil, fmt.Errorf("%q is not a variable name", name)
		case listed(never, name):
			return nil, nil, fmt.Errorf("%s is never passed on", name)
		}
	}
	for _, item := range own {
		name, value, _ := strings.Cut(item, "=")
		switch {
		case listed(never, name):
		case listed(withheld, name) && !slices.Contains(keep, name):
			left = append(left, name)
		case name == "PATH":
			env = append(env, "PATH="+absoluteOnly(value))
		default:
			env = append(env, item)
		}
	}
	slices.Sort(left)
	return env, left, nil
}

// listed reports whether a list contains a name.
func listed(list []string, name string) bool {
	return slices.ContainsFunc(list, func(item string) bool {
		begin, open := strings.CutSuffix(item, "*")
		return name == item || open && strings.HasPrefix(name, begin)
	})
}

func absoluteOnly(path string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return !filepath.IsAbs(dir) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

package mask

import (
	"slices"
	"strings"
)

// secretEnds are suffixes of words that name a secret.
var secretEnds = []string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey", "privatekey",
	"signingkey", "encryptionkey", "credential", "credentials", "passwords", "secrets", "tokens", "passcode",
	"sshpass", "pgpass", "storepass", "keypass", "authkey",
}

// secretWords are words that name a secret as the last word of a name.
var secretWords = []string{"pass", "pwd", "auth", "authorization", "jwt", "psk", "pw", "signature", "bearer", "passin", "passout", "otp"}

// secretPairs are pairs of words that name a secret at the end of a name.
var secretPairs = []string{
	"api key", "access key", "secret key", "private key", "signing key", "encryption key", "auth key", "account key",
	"master key", "shared key", "session key", "secret id", "subscription key", "service key", "deploy key", "storage key",
	"license key", "webhook key", "security token", "pass word", "pass phrase", "connection string",
}

// queryNames name a secret only in the query of a URL.
var queryNames = []string{"key", "sig", "code", "auth", "credential", "x-amz-credential", "session", "sid"}

// harmless are complete names that would otherwise be taken for secrets.
var harmless = []string{"pwd", "oldpwd", "max_tokens", "max-tokens", "maxtokens", "min_tokens", "num_tokens", "n_tokens", "total_tokens", "author"}

// isSecretName reports whether a value with this name is a secret: db_password,
// apiKey, --auth-token, but not PASSWORD_FILE.
func isSecretName(name string) bool {
	if len(name) > 200 {
		name = name[len(name)-200:]
	}
	parts := splitName(strings.Trim(name, "-_."))
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	if len(parts) == 1 && strings.HasPrefix(name, "-") && last == "auth" {
		return true // --auth user:password
	}
	if slices.Contains(harmless, strings.ToLower(strings.Trim(name, "-"))) {
		return len(parts) == 1 && name == "Pwd"
	}
	if slices.Contains(secretWords, last) {
		return true
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(last, end) {
			return true
		}
	}
	return len(parts) > 1 && slices.Contains(secretPairs, parts[len(parts)-2]+" "+last)
}

// servers are the words before URL or URI in the name of a variable of the
// environment whose value has a password in it, as those of databases, queues and mail
// servers do by convention (12factor.net/backing-services), or is one (webhooks).
var servers = []string{
	"database", "db", "sql", "postgres", "postgresql", "pg", "mysql", "mariadb", "mssql", "sqlserver", "mongo", "mongodb", "mongolab", "redis", "rediscloud", "valkey",
	"amqp", "rabbitmq", "cloudamqp", "broker", "kafka", "nats", "celery", "queue", "jdbc", "datasource", "sqlalchemy", "elasticsearch", "elastic",
	"opensearch", "bonsai", "clickhouse", "neo4j", "couchdb", "cassandra", "influxdb", "memcached", "memcachier", "cloudinary", "smtp", "mail", "mailer", "email",
	"direct", "prisma", "turso", "libsql", "webhook", "hook",
}

// openKeys are the words before KEY in the name of a variable whose value is no secret.
var openKeys = []string{
	"public", "publishable", "anon", "site", "primary", "foreign", "unique", "composite", "sort", "partition", "hash", "range", "cache", "lookup", "object",
	"index", "group", "order", "idempotency", "map", "dict", "registry", "i18n", "translation", "hot", "meta", "ctrl", "host", "known",
}

// variableEnds are the words at the end of the name of a variable that tell nothing of what
// it holds. BASE64 and B64 lose their digits; SECRET_KEY_BASE is that of Rails.
var variableEnds = []string{
	"json", "base", "b", "data", "prod", "production", "dev", "development", "staging", "stage", "test", "testing", "live", "local", "default", "old", "new",
	"backup", "value", "raw", "encoded",
}

// variableWords are what else the name of a variable of the environment ends in whose
// value is a secret: Data Source Names (Sentry, PDO), personal access tokens, cookies.
var variableWords = []string{"dsn", "pat", "cookie", "cookies", "mnemonic", "pem"}

// variablePairs are like secretPairs, for variables of the environment.
var variablePairs = []string{"key id", "service account", "auth config", "seed phrase", "connection url", "conn string", "conn str"}

// variableParts are words that tell a secret wherever they stand in the name of a variable
// of the environment: SECRET_VALUE, PGPASS_LINE, COOKIE_JAR_TEXT.
var variableParts = []string{"secret", "secrets", "password", "passwd", "passphrase", "pgpass", "pgpassword", "cookie", "cookies", "credential", "credentials", "token", "apikey"}

// aboutSecrets are the last words of names of variables that only tell about a secret: where
// it lies, what it is called, how long it lasts.
var aboutSecrets = []string{
	"file", "files", "path", "paths", "dir", "name", "names", "arn", "arns", "type", "ttl", "length", "len", "size", "count", "limit", "limits", "max", "min",
	"version", "url", "uri", "urls", "endpoint", "host", "port", "issuer", "audience", "scope", "scopes", "expiry", "expires", "expiration", "age", "lifetime",
	"enabled", "disabled", "required", "backend", "provider", "store", "manager", "service", "region", "project", "namespace", "mount", "header", "format",
	"algorithm", "domain", "parallelism", "budget", "usage", "policy", "rotation", "prefix", "status", "ref", "id", "exists", "set", "secure", "samesite", "interval", "timeout", "seconds", "minutes", "hours", "days", "source", "script", "helper", "cmd", "command",
}

// IsSecretVariable reports whether the value of an environment variable with this name
// is a secret: one by its name, or by convention though the name does not say so, as
// DATABASE_URL and AWS_ACCESS_KEY_ID. Only names in capitals follow the conventions.
func IsSecretVariable(name string) bool {
	if isSecretName(name) {
		return true
	}
	parts := splitName(name)
	if len(parts) > 1 && slices.Contains(variableEnds, parts[len(parts)-1]) {
		return isUpper(name[0]) && IsSecretVariable(name[:strings.LastIndexByte(name, '_')+1])
	}
	if len(parts) == 0 || strings.ToUpper(name) != name {
		return false
	}
	last := parts[len(parts)-1]
	if !slices.Contains(aboutSecrets, last) && slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(variableParts, part) }) {
		return true
	}
	if len(parts) == 1 {
		return false
	}
	before := parts[len(parts)-2]
	switch last {
	case "url", "uri", "urls", "uris":
		return slices.Contains(servers, before)
	case "key":
		return !slices.Contains(openKeys, before)
	}
	return slices.Contains(variableWords, last) || slices.Contains(variablePairs, before+" "+last)
}

// counts reports whether a number with this name is a number of tokens.
func counts(name string) bool { return strings.HasSuffix(strings.ToLower(name), "tokens") }

// splitName splits a name into words in lower case, at punctuation and before
// capitals that follow lower-case letters. Trailing digits are ignored.
func splitName(name string) []string {
	name = strings.TrimRight(name, "0123456789")
	var parts []string
	from := 0
	for i := 0; i <= len(name); i++ {
		switch {
		case i == len(name), name[i] == '_', name[i] == '-', name[i] == '.':
			if from < i {
				parts = append(parts, strings.ToLower(name[from:i]))
			}
			from = i + 1
		case i > from && isUpper(name[i]) && !isUpper(name[i-1]):
			parts = append(parts, strings.ToLower(name[from:i]))
			from = i
		}
	}
	return parts
}

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

// shape is a token format: a prefix, and the minimum number of name characters
// after it.
type shape struct {
	prefix string
	rest   int
}

// shapes are the known formats, by their first byte.
var shapes = byFirst([]shape{
	{"sk-", 16}, {"sk_live_", 8}, {"sk_test_", 8}, {"rk_live_", 8}, {"rk_test_", 8}, {"whsec_", 16},
	{"ghp_", 16}, {"gho_", 16}, {"ghu_", 16}, {"ghs_", 16}, {"ghr_", 16}, {"github_pat_", 16},
	{"glpat-", 16}, {"gldt-", 16}, {"glrt-", 16}, {"glcbt-", 16}, {"glsa_", 16}, {"glc_", 24},
	{"xoxa-", 8}, {"xoxb-", 8}, {"xoxe-", 8}, {"xoxp-", 8}, {"xoxr-", 8}, {"xoxs-", 8}, {"xapp-", 8}, {"xoxe.", 8},
	{"AKIA", 16}, {"ASIA", 16}, {"ABIA", 16}, {"ACCA", 16}, {"AIza", 30}, {"ya29.", 16}, {"GOCSPX-", 16},
	{"awt_", 20}, {"awb_", 20}, {"npm_", 20}, {"pypi-", 32}, {"hf_", 20}, {"dop_v1_", 32}, {"doo_v1_", 32}, {"shpat_", 24}, {"shpss_", 24},
	{"SG.", 32}, {"lin_api_", 20}, {"sntrys_", 20}, {"hvs.", 16}, {"hvb.", 16}, {"AGE-SECRET-KEY-1", 16},
	{"dapi", 32}, {"sq0atp-", 16}, {"sq0csp-", 16}, {"key-", 32}, {"PMAK-", 32}, {"r8_", 32}, {"pplx-", 32}, {"gsk_", 32},
	{"dckr_pat_", 16}, {"tfp_", 24}, {"atlasv1.", 24}, {"NRAK-", 20}, {"figd_", 20}, {"eyJ", 17},
})

func byFirst(all []shape) (by [256][]shape) {
	for _, s := range all {
		by[s.prefix[0]] = append(by[s.prefix[0]], s)
	}
	return by
}

// tokens hides tokens of known formats in the run from i to j.
func (c *scanner) tokens(i, j int) {
	for k := i; k < j; k++ {
		if k > i && isAlnum(c.s[k-1]) {
			continue
		}
		for _, s := range shapes[c.s[k]] {
			if strings.HasPrefix(c.s[k:j], s.prefix) && isToken(s, c.s[k:j]) {
				c.add(k, j)
				return
			}
		}
	}
	c.bot(i, j)
}

// isToken reports whether text, which has the shape's prefix, is a token.
func isToken(s shape, text string) bool {
	rest := text[len(s.prefix):min(len(text), 1000)]
	switch s.prefix {
	case "eyJ": // a JWT has three parts
		return strings.Count(rest, ".") >= 2 && len(rest) >= s.rest
	case "AKIA", "ASIA", "ABIA", "ACCA":
		return len(rest) >= s.rest && strings.ToUpper(rest[:s.rest]) == rest[:s.rest] && !strings.ContainsAny(rest[:s.rest], "-._")
	case "sk-", "key-", "dapi", "hf_", "npm_", "pypi-": // these prefixes also begin words
		return len(rest) >= s.rest && strings.ContainsAny(rest, "0123456789")
	}
	return len(rest) >= s.rest
}

// bot hides a token of the form 123456789:AA… after the name from i to j.
func (c *scanner) bot(i, j int) {
	digits := strings.TrimPrefix(c.s[i:j], "bot")
	if len(digits) < 8 || len(digits) > 10 || strings.Trim(digits, "0123456789") != "" || j >= len(c.s) || c.s[j] != ':' {
		return
	}
	end := j + 1
	for end < len(c.s) && isName(c.s[end]) {
		end++
	}
	if end-j > 30 {
		c.add(j+1, end)
	}
}

// keys hides the bodies of private keys.
func (c *scanner) keys() {
	for p := 0; ; {
		at := strings.Index(c.s[p:], "PRIVATE KEY")
		if at < 0 {
			return
		}
		p += at + len("PRIVATE KEY")
		dashes := strings.Index(c.s[p:], "-----")
		if dashes < 0 || dashes > len(" BLOCK") {
			continue
		}
		p = c.key(p + dashes + len("-----"))
	}
}

// shortest is the minimum length of a line of a key that is recognized by its
// characters alone.
const shortest = 16

// key hides the lines of a key from p on, and returns their end.
func (c *scanner) key(p int) int {
	hid := false
	for p < len(c.s) {
		if n := lineEnd(c.s[p:]); n > 0 {
			p += n
			continue
		}
		q := p
		for q < len(c.s) && (isAlnum(c.s[q]) || strings.IndexByte("+/=", c.s[q]) >= 0) {
			q++
		}
		last := hid && q > p && (q-p)%4 == 0 && closes(c.s[q:])
		switch {
		case q-p >= shortest && !isPath(c.s[p:q]), last:
			c.add(p, q)
			hid = true
		case !keyHeader(c.s[p:]):
			return p
		default:
			q = p + max(1, strings.IndexAny(c.s[p:]+"\n", "\n\\"))
		}
		p = max(q, p)
		if q >= len(c.s) {
			break
		}
	}
	return p
}

// lineEnd returns the length of leading white space, including escaped line
// feeds.
func lineEnd(s string) int {
	switch {
	case s[0] == ' ' || s[0] == '\t' || s[0] == '\n' || s[0] == '\r':
		return 1
	case strings.HasPrefix(s, `\n`), strings.HasPrefix(s, `\r`):
		return 2
	}
	return 0
}

// closes reports whether the end marker of a key follows.
func closes(s string) bool {
	for len(s) > 0 && lineEnd(s) > 0 {
		s = s[lineEnd(s):]
	}
	return strings.HasPrefix(s, "-----END ")
}

// keyHeader reports whether a line is a header field of a key.
func keyHeader(s string) bool {
	for _, name := range []string{"Proc-Type:", "DEK-Info:", "Version:", "Comment:"} {
		if strings.HasPrefix(s, name) {
			return true
		}
	}
	return false
}

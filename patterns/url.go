package patterns

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// URL is the URL of a fetch, parsed once for all rules. Since programs disagree
// on the host of an unusual URL, it holds every host that one of them may use.
// It is read-only.
type URL struct {
	text string
	// host is the host on which all parsers of URLs agree, "" if there is none.
	// Only it can prove an allow.
	host string
	port string // of host: the one named, or that of the scheme
	// hosts lists the hosts that some parser may use.
	hosts []string
	// ports lists, for each of hosts, the ports that some parser may use; "" may be any.
	ports [][]string
	// any is set if the host may be one that is not among them.
	any bool
	odd string // why nothing is proven
}

// maxURL is the maximum length of a URL that is parsed, in bytes.
const maxURL = 16 << 10

// NewURL parses a URL, which may have holes.
func NewURL(word shell.Word) *URL {
	u := &URL{text: word.Text}
	text := word.Text
	if len(word.Holes) > 0 || word.Split {
		at := len(text)
		if len(word.Holes) > 0 {
			at = word.Holes[0].At
		}
		if !endsAuthority(text[:at]) {
			u.any, u.odd = true, "the host is known only when the line runs"
			return u
		}
		text = text[:at]
	}
	if len(text) > maxURL {
		u.any, u.odd = true, "the URL is too long"
		return u
	}
	u.readings(text)
	u.odd = oddity(text)
	if u.odd == "" && len(u.hosts) == 1 && !u.any {
		u.host = u.hosts[0]
		u.port = portOf(text)
	}
	if u.odd == "" && u.host == "" {
		u.odd = "the host cannot be determined"
	}
	return u
}

// String returns the text of the URL without those parts that are only known at
// run time.
func (u *URL) String() string { return u.text }

// Host returns the host of the URL, "" if it is not certain.
func (u *URL) Host() string { return u.host }

// endsAuthority reports whether text completes the host of a URL, so that what
// follows does not change it.
func endsAuthority(text string) bool {
	_, rest, ok := strings.Cut(text, "://")
	return ok && strings.ContainsAny(rest, "/#") && !strings.HasPrefix(rest, "/")
}

// oddity returns why a URL proves no allow, "" if it is a plain http(s) URL on
// whose host all parsers agree.
func oddity(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "it is not an http or https URL"
	}
	authority := rest
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		authority = rest[:at]
	}
	switch {
	case strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || r == '\\' || r == ' ' || r == unicode.ReplacementChar
	}):
		return "it contains a space, a backslash or a control character"
	case strings.Contains(authority, "@"):
		return "it contains a user name"
	case strings.Contains(authority, "%"):
		return "its host contains an escape"
	}
	host, port := cutPort(authority)
	if !isDigits(port) {
		return "its port is not a number"
	}
	if name, ok := canonical(host); !ok || name == "" {
		return "its host is neither a name nor an address"
	} else if !sameSpelling(host, name) {
		return "its host is written in an unusual form"
	}
	return ""
}

// sameSpelling reports whether a host is in canonical form, ignoring case, a
// final dot and the letters that punycode represents.
func sameSpelling(host, name string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == name || strings.HasPrefix(host, "[") {
		return true
	}
	if isASCII(host) {
		return false
	}
	back, err := idna.Lookup.ToUnicode(name)
	return err == nil && back == host
}

func isDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}

// cutPort splits the port off an authority.
func cutPort(authority string) (host, port string) {
	at := strings.LastIndexByte(authority, ':')
	if at < 0 || strings.LastIndexByte(authority, ']') > at {
		return authority, ""
	}
	return authority[:at], authority[at+1:]
}

// readings collects the hosts that parsers of URLs may use.
func (u *URL) readings(text string) {
	web := webText(text)
	u.web(web)
	u.plain(text)
	if !strings.Contains(web, ":") || !strings.Contains(web, "//") {
		return
	}
	scheme, rest, _ := strings.Cut(web, ":")
	if !fetchScheme(scheme) && strings.Contains(rest, "://") {
		u.any = true // view-source:, blob:, jar: … fetch the URL that they contain
	}
}

// webText returns a URL cleaned as by browsers, without surrounding spaces and
// control characters and without any tabs and newlines.
func webText(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
}

// web parses a URL as browsers do: backslashes are slashes, any number of them
// may follow the scheme, and the last "@" ends the user name.
func (u *URL) web(text string) {
	scheme, rest, ok := strings.Cut(text, ":")
	slashed := strings.ReplaceAll(text, `\`, "/")
	switch {
	case strings.HasPrefix(slashed, "//"):
		rest = slashed
	case !ok || !isScheme(scheme):
		return
	case !fetchScheme(scheme):
		return
	}
	rest = strings.TrimLeft(strings.ReplaceAll(rest, `\`, "/"), "/")
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		rest = rest[:at]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	u.add(scheme, rest)
}

// plain parses a URL according to RFC 3986, and like programs that accept a
// host without a scheme.
func (u *URL) plain(text string) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !isScheme(scheme) {
		scheme = ""
	}
	switch {
	case scheme != "":
		if strings.EqualFold(scheme, "file") || rest == "" {
			return
		}
	case strings.HasPrefix(text, "//"):
		rest = text[2:]
	default:
		if at := strings.IndexByte(text, ':'); at >= 0 && isScheme(text[:at]) && !looksLikePort(text[at+1:]) {
			return
		}
		rest = text
	}
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		rest = rest[:at]
	}
	first, after, user := strings.Cut(rest, "@")
	if user {
		if at := strings.LastIndexByte(after, '@'); at >= 0 {
			u.add(scheme, after[:at])
			after = after[at+1:]
		}
		if strings.ContainsAny(first, `\`) {
			u.add(scheme, strings.SplitN(first, `\`, 2)[0])
		}
		rest = after
	}
	u.add(scheme, rest)
}

// looksLikePort reports whether the text after a colon may be a port, so that
// the colon ends a host rather than a scheme.
func looksLikePort(text string) bool {
	return text != "" && text[0] >= '0' && text[0] <= '9'
}

func isScheme(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return text != ""
}

// fetchScheme reports whether a scheme is followed by a host.
func fetchScheme(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss", "ftp", "ftps", "sftp", "scp", "ssh", "git", "rsync", "svn", "telnet", "gopher",
		"dict", "ldap", "ldaps", "tcp", "udp", "smb", "rtsp", "rtmp", "socks4", "socks5":
		return true
	}
	return strings.HasPrefix(strings.ToLower(scheme), "http") || strings.HasPrefix(strings.ToLower(scheme), "git+")
}

// schemePorts are the ports of schemes whose URLs name none.
var schemePorts = map[string]string{
	"http": "80", "ws": "80", "https": "443", "wss": "443", "ftp": "21", "ssh": "22", "sftp": "22", "scp": "22", "git": "9418",
}

// portNumber returns a port in its usual spelling, false if it is none.
func portNumber(text string) (string, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return strconv.FormatUint(n, 10), err == nil && n > 0
}

// portOf returns the port of a plain http or https URL, "" if it has none that exists.
func portOf(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		rest = rest[:at]
	}
	return portFor(scheme, rest)
}

// portFor returns the port of an authority, that of its scheme if it names none, and "" for
// one that is not known.
func portFor(scheme, authority string) string {
	_, port := cutPort(authority)
	if port == "" {
		return schemePorts[strings.ToLower(scheme)]
	}
	number, ok := portNumber(port)
	if !ok {
		return ""
	}
	return number
}

// add records the host of an authority, with its port. One that is neither a name nor an
// address may mean any host.
func (u *URL) add(scheme, authority string) {
	host, port := cutPort(authority)
	if at := strings.IndexByte(port, '\\'); at >= 0 || !isDigits(port) {
		u.any = true
	}
	if host == "" {
		return
	}
	name, ok := canonical(host)
	if !ok {
		u.any = true
		return
	}
	i := slices.Index(u.hosts, name)
	if i < 0 {
		i = len(u.hosts)
		u.hosts, u.ports = append(u.hosts, name), append(u.ports, nil)
	}
	if number := portFor(scheme, authority); !slices.Contains(u.ports[i], number) {
		u.ports[i] = append(u.ports[i], number)
	}
}

// canonical returns the canonical spelling of a host: lower case, punycode, no
// final dot, addresses in their usual form. It reports false if host is not
// one.
func canonical(host string) (string, bool) {
	if strings.HasPrefix(host, "[") {
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil || addr.Zone() != "" {
			return "", false
		}
		return addressText(addr), true
	}
	decoded, ok := percentDecode(host)
	if !ok {
		return "", false
	}
	name, err := idna.Lookup.ToASCII(decoded)
	if err != nil {
		if name, ok = asciiName(decoded); !ok {
			return "", false
		}
	}
	name = strings.TrimSuffix(name, ".")
	if addr, isNumber := numericHost(name); isNumber {
		return addr, addr != ""
	}
	return name, name != "" && name[0] != '.' && !strings.Contains(name, "..")
}

// folding maps text as for a look-up, and leaves in it what stands around a host.
var folding = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.Transitional(false))

// FoldHost returns a text that may hold a host in lower case, without what URL parsers
// skip, and with the letters, digits and dots for which resolvers take those of other
// scripts: "evil\u3002com" is evil.com. It reports false if they disagree on the text.
func FoldHost(text string) (string, bool) {
	text = webText(text)
	if isASCII(text) {
		return strings.ToLower(text), true
	}
	folded, err := folding.ToUnicode(text)
	return folded, err == nil
}

// asciiName accepts ASCII names that IDNA rejects but resolvers accept: with an
// underscore or with a hyphen in an unusual place.
func asciiName(name string) (string, bool) {
	name = strings.ToLower(name)
	if strings.Contains(name, "xn--") {
		return "", false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return "", false
		}
	}
	return name, name != "" && name[0] != '.'
}

func percentDecode(host string) (string, bool) {
	if strings.IndexByte(host, '%') < 0 {
		return host, true
	}
	var b strings.Builder
	for i := 0; i < len(host); i++ {
		if host[i] != '%' {
			b.WriteByte(host[i])
			continue
		}
		if i+2 >= len(host) {
			return "", false
		}
		v, err := strconv.ParseUint(host[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(v))
		i += 2
	}
	return b.String(), true
}

// addressText returns the usual spelling of an address. For an IPv4-mapped IPv6
// address this is that of the IPv4 address.
func addressText(addr netip.Addr) string {
	addr = addr.Unmap()
	b := addr.As16()
	if addr.Is6() && (isZero(b[:12]) && b[12] != 0 || isZero(b[4:12]) && b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b) {
		return netip.AddrFrom4([4]byte(b[12:])).String()
	}
	if addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return addr.String()
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// numericHost parses a host whose last part is a number like browsers and
// resolvers: up to four parts, decimal, octal or hexadecimal, of which the last
// fills the remaining bytes. The address is "" if there is none.
func numericHost(name string) (addr string, isNumber bool) {
	parts := strings.Split(name, ".")
	if _, ok := number(parts[len(parts)-1]); !ok {
		return "", false
	}
	if len(parts) > 4 {
		return "", true
	}
	var value uint64
	for i, part := range parts {
		n, ok := number(part)
		last := i == len(parts)-1
		if !ok || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return "", true
		}
		if last {
			value |= n
		} else {
			value |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}).String(), true
}

// number parses a part of an address: hexadecimal after 0x, octal after a
// leading 0.
func number(part string) (uint64, bool) {
	base, digits := 10, part
	switch {
	case len(part) > 1 && (strings.HasPrefix(part, "0x") || strings.HasPrefix(part, "0X")):
		base, digits = 16, part[2:]
		if digits == "" {
			return 0, true
		}
	case len(part) > 1 && part[0] == '0' && isDigits(part):
		base, digits = 8, part[1:]
	}
	n, err := strconv.ParseUint(digits, base, 33)
	if err != nil {
		// Even if it is too large, or octal with an 8, it counts as a number.
		return 1 << 40, part != "" && isDigits(part)
	}
	return n, true
}

package mask

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// In each row S3cretX9 is the secret, and R stands for Mark.
var rows = []string{
	// assignments
	`PASSWORD=S3cretX9 ./run`,
	`export DB_PASSWORD='S3cretX9' && ./run`,
	`API_KEY="S3cretX9"; ./run`,
	`export GITHUB_TOKEN=S3cretX9`,
	`env AWS_SECRET_ACCESS_KEY=S3cretX9 aws s3 ls`,
	`PGPASSWORD=S3cretX9 psql -h db.example.com`,
	`MYSQL_PWD=S3cretX9 mysql -u root`,
	`apiKey: S3cretX9`,
	`password = "S3cretX9"`,
	`: ${DB_PASSWORD:-S3cretX9}`,
	`os.environ["API_TOKEN"] = "S3cretX9"`,
	`<password>S3cretX9</password>`,
	`Server=db;Uid=root;Pwd=S3cretX9`,
	// options
	`tool --password=S3cretX9 --host=db.example.com`,
	`tool --password S3cretX9 --verbose`,
	`tool --api-key "S3cretX9" /srv/x`,
	`tool --token 'S3cretX9'`,
	`tool -password S3cretX9`,
	`mysql -u root -pS3cretX9 shop < dump.sql`,
	`mysql -p'S3cretX9' shop`,
	`sshpass -p S3cretX9 ssh host.example.com`,
	`sshpass -pS3cretX9 ssh host.example.com`,
	`docker login -u me -p S3cretX9 registry.example.com`,
	`curl -u me:S3cretX9 https://example.com/x`,
	`curl -sSu "me:S3cretX9" https://example.com/x`,
	`curl -ume:S3cretX9 https://example.com/x`,
	`curl --user me:S3cretX9 https://example.com/x`,
	`curl --user=me:S3cretX9 https://example.com/x`,
	`/usr/bin/curl -u 'me:S3cretX9' https://example.com/x`,
	`redis-cli -h cache.example.com -a S3cretX9 ping`,
	`ldapsearch -D cn=admin -w S3cretX9`,
	`openssl rsa -in k.pem -passin pass:S3cretX9`,
	`openssl enc -aes-256-cbc -k S3cretX9 -in x`,
	`htpasswd -bc .htpasswd me S3cretX9`,
	`smbclient //host.example.com/share -U me%S3cretX9`,
	`zip -P S3cretX9 out.zip src`,
	`gpg --batch --passphrase S3cretX9 -d x.gpg`,
	`kubectl create secret generic db --from-literal=pin=S3cretX9`,
	`kubectl create secret generic db --from-literal pin=S3cretX9`,
	`vault login S3cretX9`,
	`aws configure set aws_secret_access_key S3cretX9`,
	`npm config set //registry.example.com/:_authToken S3cretX9`,
	`gh secret set NAME -b S3cretX9`,
	`http -a me:S3cretX9 example.com/x`,
	`xh -a me:S3cretX9 example.com/x`,
	`curl -b 'sid=S3cretX9' https://example.com/x`,
	`curl --cookie sid=S3cretX9 https://example.com/x`,
	`curl -sb "a=./x; sid=S3cretX9" https://example.com/x`,
	`SSHPASS=S3cretX9 sshpass -e ssh host.example.com`,
	`az keyvault secret set --name x --value S3cretX9`,
	`az login --service-principal -u me -p S3cretX9`,
	`poetry config http-basic.corp me S3cretX9`,
	`poetry config pypi-token.pypi S3cretX9`,
	`poetry publish -u me -p S3cretX9`,
	`composer config http-basic.example.com me S3cretX9`,
	`bundle config set --local gems.example.com me:S3cretX9`,
	`ansible-vault encrypt_string --name x S3cretX9`,
	`doctl auth init -t S3cretX9`,
	`ngrok config add-authtoken S3cretX9`,
	`snyk auth S3cretX9`,
	`tailscale up --authkey=S3cretX9 --ssh`,
	`rabbitmqctl add_user me S3cretX9`,
	`rabbitmqctl change_password me "S3cretX9"`,
	`rabbitmqadmin -u me -p S3cretX9 list queues`,
	`nmcli dev wifi connect Home password S3cretX9`,
	`wpa_passphrase Home S3cretX9`,
	`xfreerdp /u:me /p:S3cretX9 /v:host.example.com`,
	`rdesktop -u me -p S3cretX9 host.example.com`,
	`keytool -list -storepass S3cretX9 -keystore k.jks`,
	`keytool -list -keypass S3cretX9`,
	`influx write -t S3cretX9 -b x`,
	`etcdctl --user me:S3cretX9 get x`,
	`bw unlock S3cretX9`,
	`ssh-keygen -t ed25519 -N 'S3cretX9' -f k`,
	`ssh-keygen -p -P S3cretX9`,
	`mc alias set corp https://s3.example.com ACCESS S3cretX9`,
	`skopeo copy --src-creds me:S3cretX9 docker://a docker://b`,
	`skopeo copy --dest-creds=me:S3cretX9 docker://a docker://b`,
	`snmpget -v2c -c S3cretX9 host.example.com x`,
	`snmpwalk -v3 -l authPriv -A S3cretX9 host.example.com`,
	`jq -n --arg token S3cretX9 '{a: 1}'`,
	// texts of other programs
	`echo "machine example.com login me password S3cretX9" >> netrc`,
	`psql -c "ALTER USER me WITH PASSWORD 'S3cretX9'"`,
	`psql -c "CREATE ROLE me LOGIN ENCRYPTED PASSWORD 'S3cretX9';"`,
	`mysql -e "CREATE USER me IDENTIFIED BY 'S3cretX9'"`,
	`mysql -e "alter user me identified with x by 'S3cretX9'"`,
	// headers
	`curl -H "Authorization: Bearer S3cretX9" https://example.com/x`,
	`curl -H 'Authorization: token S3cretX9' https://example.com/x`,
	`curl -H "authorization:S3cretX9" https://example.com/x`,
	`curl -H "X-Api-Key: S3cretX9" https://example.com/x`,
	`curl -H "PRIVATE-TOKEN: S3cretX9" https://example.com/x`,
	`curl -H "Cookie: sid=S3cretX9" https://example.com/x`,
	`the header was bearer S3cretX9, and it failed`,
	// URLs
	`git clone https://me:S3cretX9@git.example.com/a/b.git`,
	`psql "postgres://me:S3cretX9@db.example.com:5432/shop?sslmode=require"`,
	`redis://:S3cretX9@cache.example.com:6379/0`,
	`curl "https://example.com/x?access_token=S3cretX9&page=2"`,
	`curl "https://example.com/x?page=2&key=S3cretX9"`,
	`curl 'https://example.com/x?sig=S3cretX9#top'`,
	// JSON in a command, and JSON in a string
	`curl -d '{"user":"me","password":"S3cretX9"}' https://example.com/login`,
	`curl -d "{\"user\":\"me\",\"password\":\"S3cretX9\"}" https://example.com/login`,
	`{\"api_key\": \"S3cretX9\", \"host\": \"example.com\"}`,
}

func TestRows(t *testing.T) {
	const secret = "S3cretX9"
	for _, row := range rows {
		want := strings.ReplaceAll(row, secret, Mark)
		for name, mask := range map[string]func(string) (string, int){"text": Text, "command": Command, "words": Words} {
			got, n := mask(row)
			if name == "words" && strings.Contains(got, secret) {
				t.Errorf("words: %s", got)
			}
			if name != "words" && (got != want || n != 1) {
				t.Errorf("%s: %d\n got %s\nwant %s", name, n, got, want)
			}
			if again, n := mask(got); again != got || n != 0 {
				t.Errorf("%s, twice: %d %s", name, n, again)
			}
		}
	}
}

// Tokens are recognized by their format, wherever they are.
func TestTokens(t *testing.T) {
	tokens := []string{
		"ghp_" + strings.Repeat("a1B2", 9), "github_pat_11AAAAAAA0" + strings.Repeat("x", 30), "glpat-abcdefghij1234567890",
		"xoxb-123456789012-abcdefABCDEF", "AKIAIOSFODNN7EXAMPLE", "AIzaSyA1234567890abcdefghijklmnopqrstuv",
		"npm_abcdefghijklmnopqrstuvwxyz0123456789", "sk-ant-api03-abcdefghijklmnop1234", "sk_live_abcdefgh12345678",
		"eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiIxMjM0NTY3ODkw.SflKxwRJSMeKKF2QT4", "hvs.CAESIJabcdefghij1234567890",
		"SG.abcdefghijklmnopqrstuv.wxyz0123456789abcdefghij", "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQ", "ya29.a0AfH6SMBabcdefghij",
	}
	for _, token := range tokens {
		for _, place := range []string{"%", "echo % > out", "x='%'", `say "%"; ls`, "https://example.com/%/x", "a,%,b", "(%)", "$(echo %)", "key.%"} {
			in := strings.ReplaceAll(place, "%", token)
			if got, _ := Text(in); strings.Contains(got, token[len(token)/2:]) || !strings.Contains(got, Mark) {
				t.Errorf("%s became %s", in, got)
			}
		}
	}
	if got, _ := Text("https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/send"); got != "https://api.telegram.org/bot123456789:"+Mark+"/send" {
		t.Error(got)
	}
}

func TestPrivateKey(t *testing.T) {
	body := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 3) + "Zg=="
	for _, kind := range []string{"", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED "} {
		key := "-----BEGIN " + kind + "PRIVATE KEY-----\n" + body + "\n-----END " + kind + "PRIVATE KEY-----"
		for _, in := range []string{"cat > k <<E\n" + key + "\nE\nchmod 600 k", strings.ReplaceAll(key, "\n", `\n`), strings.ReplaceAll(key, "\n", "\r\n")} {
			got, n := Text(in)
			if strings.Contains(got, "MIIE") || strings.Contains(got, "Zg==") || n == 0 {
				t.Errorf("%d %s", n, got)
			}
			if strings.Contains(in, "chmod") && !strings.HasSuffix(got, "PRIVATE KEY-----\nE\nchmod 600 k") {
				t.Errorf("%s", got)
			}
		}
	}
	in := "-----BEGIN PRIVATE KEY-----\n/etc/shadow; ls\n" // not a key: an attempt to hide a path
	if got, _ := Text(in); got != in {
		t.Error(got)
	}
}

// What is not a secret is kept.
func TestKept(t *testing.T) {
	for _, in := range []string{
		"ls -la /etc/passwd && cat ~/.ssh/config | grep token > out.txt",
		"PASSWORD=$(cat /run/secrets/db) ./run", "TOKEN=$TOKEN ./run", `API_KEY="${API_KEY}" ./run`, "PASSWORD=`pass show x` y",
		"PASSWORD_FILE=/run/secrets/db", "DB_PASSWORD=/run/secrets/db ./run", "--token-file=/x/y", "--password-stdin < f",
		"PWD=/srv/x OLDPWD=/srv/y ls", "cd \"$PWD\"", "max_tokens=4096", "cache_read_input_tokens: 12", `{"output_tokens":7}`, "git config --global user.name me",
		"docker run -p 8080:80 nginx", "ssh -p 2222 me@host.example.com", "mkdir -p a/b", "mysql -p shop", "git log --author=me",
		"https://example.com:8080/a@b/c?page=2#x", "git@github.com:a/b.git", "ssh://git@github.com/a/b.git", "std::token::next", "a.tokenize(x)",
		"curl -u \"$USER:$PASS\" https://example.com", "curl https://me:$PASS@example.com/x", "PASSWORD= ls",
		"echo password; ls", "if [ \"$token\" == x ]; then ls; fi", "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "bearer of bad news",
		"curl -X POST -F file=@/srv/x https://example.com", "openssl rsa -passin file:/run/p", "openssl rsa -passin env:P", "aws secretsmanager get-secret-value --secret-id prod/db",
		"bundle config set path vendor/x", "poetry config virtualenvs.in-project true", "ssh-keygen -lf k", "ssh-keygen -t ed25519 -N '' -f k", "mc alias list corp", "snyk test", "bw list items",
		"rabbitmqctl list_users", "curl -b cookies.txt -c cookies.txt https://example.com", "az vm list --query x --value y", "nmcli dev wifi list", "influx query -o me", "jq --arg name me .x",
		"grep password 'notes.txt'", "echo 'by' 'me'", "select x order by 'y'", "the login needs no password here", "sort by 'name'",
		"sk-learn is not a token", "key-value", "npm_config_cache=/x", "tool --no-password --token", "kubectl get secrets -n prod",
	} {
		for name, mask := range map[string]func(string) (string, int){"text": Text, "command": Command, "words": Words} {
			if got, n := mask(in); got != in || n != 0 {
				t.Errorf("%s: %s became %s", name, in, got)
			}
		}
	}
}

// A quoted value is hidden as a whole; one that only looks quoted is not.
func TestQuotes(t *testing.T) {
	tests := []struct{ in, command, words string }{
		{`PASSWORD='a;b|c "d" $e' run`, `PASSWORD='R' run`, `PASSWORD='R;b|c "d" $e' run`},
		{`PASSWORD="a b;c" run`, `PASSWORD="R" run`, `PASSWORD="R b;c" run`},
		{`PASSWORD=ab'c d'"e f"g run`, `PASSWORD=R'R'"R"R run`, `PASSWORD=R'c d'"e f"g run`},
		{`PASSWORD=$'a\'b' run`, `PASSWORD=$'R' run`, `PASSWORD=$'R\'b' run`},
		{`PASSWORD=a\ b run`, `PASSWORD=R run`, `PASSWORD=R\ b run`},
		{`echo 'password='; run 'x'`, `echo 'password='; run 'x'`, `echo 'password='; run 'x'`},
		{`PASSWORD="x$(run y)z" w`, `PASSWORD="R$(run y)z" w`, `PASSWORD="R$(run y)z" w`},
		{`PASSWORD="${A}hunter" w`, `PASSWORD="${A}R" w`, `PASSWORD="${A}hunter" w`},
		{`echo "password=a b" c`, `echo "password=R b" c`, `echo "password=R b" c`},
	}
	for _, tt := range tests {
		short := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, Mark+Mark, "R"), Mark, "R") }
		if got, _ := Command(tt.in); short(got) != tt.command {
			t.Errorf("command: %s\n got %s\nwant %s", tt.in, short(got), tt.command)
		}
		if got, _ := Words(tt.in); short(got) != tt.words {
			t.Errorf("words: %s\n got %s\nwant %s", tt.in, short(got), tt.words)
		}
	}
}

func TestJSON(t *testing.T) {
	tests := []struct {
		in, want string
		n        int
	}{
		{`{"url":"https://me:x1@h/p","n":1}`, `{"url":"https://me:R@h/p","n":1}`, 1},
		{`{"password":"x y","a":{"token":12,"b":[1,true]},"c":null}`, `{"password":"R","a":{"token":"R","b":[1,true]},"c":null}`, 2},
		{`{"credentials":{"user":"me","key":["a","/srv/x"]},"x":"y"}`, `{"credentials":{"user":"R","key":["R","/srv/x"]},"x":"y"}`, 2},
		{`{"a":"\u003cb\u003e","file_path":"/a\/b"}`, `{"a":"\u003cb\u003e","file_path":"/a\/b"}`, 0},
		{`{"command":"PASSWORD='a b' <x","x":{"command":"PASSWORD='a b'"}}`, `{"command":"PASSWORD='R' <x","x":{"command":"PASSWORD='R'"}}`, 2},
		{`{"usage":{"input_tokens":10,"tokens":1},"pin_token":7}`, `{"usage":{"input_tokens":10,"tokens":1},"pin_token":"R"}`, 1},
		{`["token=abc",-1.5e3,{}]`, `["token=R",-1.5e3,{}]`, 1},
		{`{"secret":"$TOKEN","password":"/run/x","token":""}`, `{"secret":"$TOKEN","password":"/run/x","token":""}`, 0},
		{`{"AKIAIOSFODNN7EXAMPLE":1}`, `{"R":1}`, 1},
		{`"password=\"a\""`, `"password=\"R\""`, 1},
		{`7`, `7`, 0}, {``, ``, 0}, {`{"a`, `{"a`, 0}, {`{"a\`, `{"a\`, 0}, {`]]`, `]]`, 0},
	}
	for _, tt := range tests {
		got, n := JSON([]byte(tt.in), Command)
		if diff := cmp.Diff(strings.ReplaceAll(tt.want, "R\"", Mark+"\""), strings.ReplaceAll(string(got), ":R@", ":"+Mark+"@")); diff != "" && strings.ReplaceAll(string(got), Mark, "R") != tt.want {
			t.Error(diff)
		}
		if n != tt.n {
			t.Errorf("%s: %d masked, want %d", tt.in, n, tt.n)
		}
		if json.Valid([]byte(tt.in)) != json.Valid(got) && tt.in != "" {
			t.Errorf("%s is no JSON any more", got)
		}
	}
}

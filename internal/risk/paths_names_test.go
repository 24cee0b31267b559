package risk

import "testing"

// TestSensitiveName checks which names tell that a file holds secrets, and by which
// part.
func TestSensitiveName(t *testing.T) {
	for name, want := range map[string]string{
		".env.local": ".env", ".env.production.local": ".env", "prod.env": ".env", "config.ENV": ".env",
		"server.pem": ".pem", "tls.key": ".key", "AuthKey_X1.p8": ".p8", "release.jks": ".jks", "debug.keystore": ".keystore", "my.kdbx": ".kdbx",
		"krb5.keytab": ".keytab", "office.ovpn": ".ovpn", "example.com.key": ".key", "server.pem.bak": ".pem", "tls.key~": ".key",
		"id_ed25519_work": "id_ed25519", "id_rsa-old": "id_rsa",
		"terraform.tfstate": ".tfstate", "terraform.tfstate.backup": ".tfstate", "prod.auto.tfvars": ".tfvars", "prod.tfvars.json": ".tfvars", "dev.kubeconfig": ".kubeconfig",
		"credentials.json": "credentials", "Credentials.JSON": "credentials", "credentials.yml": "credentials", "secrets.yaml": "secrets", "secrets.toml": "secrets",
		"secrets.prod.yml": "secrets", "secret.json": "secret", ".secrets.toml": "secrets", "creds.txt": "creds", "prod-secrets.yaml": "secrets",
		"gcp_credentials.json": "credentials", "application_default_credentials.json": "credentials", "values.secrets.yaml": "secrets",
		"service-account.json": "service-account", "prod-service-account.json": "service-account", "service_account_key.json": "service_account",
		"client_secret_123.apps.googleusercontent.com.json": "client_secret", "acme-firebase-adminsdk-x1-2.json": "firebase-adminsdk",

		".env.example": "", ".env.sample": "", "example.env": "", ".environment": "", "env.ts": "", "environment.d.ts": "",
		"id_ed25519_work.pub": "", "id_generator.go": "", "id_rsa.pub": "", "key.go": "", "keys.json": "", "pem.go": "", "publickey.ts": "",
		"secrets.go": "", "secrets.ts": "", "secrets.md": "", "secret.tf": "", "credentials.py": "", "credentials_test.go": "", "Secrets.tsx": "", "secrets.test.ts": "",
		"credentials.example.json": "", "secrets.yml.sample": "", "secrets.sample.yml": "", "secrets-template.yaml": "", "example-credentials.json": "",
		"/w/.venv/lib/python3.12/site-packages/certifi/cacert.pem": "", "certifi/cacert.pem": "", "pip/_vendor/certifi/cacert.pem": "", "x/botocore/cacert.pem": "", "grpc/_cython/_credentials/roots.pem": "",
		"node_modules/grpc/deps/grpc/etc/roots.pem": "", "vendor/composer/ca-bundle/res/cacert.pem": "", "deps/castore/priv/cacerts.pem": "",
		"cacert.pem": ".pem", "mycertifi/cacert.pem": ".pem", "Certifi/cacert.pem": ".pem", "certifi/CACERT.pem": ".pem", "certifi/x/cacert.pem": ".pem", "certifi/cacert.pem/server.pem": ".pem", "certifi/key.pem": ".pem",
		"certifi/cacert.pem.bak": ".pem", "_credentials/roots.pem": ".pem", "etc/roots.pem": ".pem", "roots.pem": ".pem", "certifi/cacert.key": ".key",
		"terraform.tfvars.example": "", "example.tfvars": "", "tfvars.go": "", ".secrets.baseline": "", "main.tf": "", "variables.tf": "",
		"external-secret.yaml": "", "secret-store.yaml": "", "tokens.json": "", "package.json": "", "tsconfig.json": "", "README": "", "": "", ".": "",
		"credentials.schema.json": "", "service-account.yaml": "", "accounts.json": "",
	} {
		if got := SensitiveName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

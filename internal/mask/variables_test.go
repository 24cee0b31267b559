package mask

import "testing"

// TestIsSecretVariable checks which environment variables have secret values by their
// names or by convention.
func TestIsSecretVariable(t *testing.T) {
	for name, want := range map[string]bool{
		"NPM_TOKEN": true, "db_password": true, "API_KEY": true,
		"DATABASE_URL": true, "DATABASE_URI": true, "TEST_DATABASE_URL": true, "REDIS_URL": true, "REDIS_URL_2": true, "SECRET_KEY_BASE": true, "REDIS_URL2": true, "MONGO_URI": true, "MONGODB_URI": true,
		"POSTGRES_URL": true, "DIRECT_URL": true, "CELERY_BROKER_URL": true, "AMQP_URL": true, "CLOUDINARY_URL": true, "SLACK_WEBHOOK_URL": true, "SPRING_DATASOURCE_URL": true,
		"SENTRY_DSN": true, "PDO_DSN": true, "AWS_ACCESS_KEY_ID": true, "GITHUB_PAT": true, "AZURE_DEVOPS_EXT_PAT": true, "CI_JOB_JWT": true, "SESSION_COOKIE": true,
		"STRIPE_KEY": true, "OPENAI_KEY": true, "SSH_KEY": true, "DOCKER_AUTH_CONFIG": true, "FIREBASE_SERVICE_ACCOUNT": true, "GCP_SERVICE_ACCOUNT_JSON": true,
		"GOOGLE_CREDENTIALS_BASE64": true, "WALLET_MNEMONIC": true, "TLS_PEM": true,
		"PGPASS": true, "PGPASSWORD": true, "MYSQL_PWD": true, "MY_SECRET_VALUE": true, "SECRET_PROD": true, "API_KEY_PROD": true, "STRIPE_KEY_LIVE": true,
		"NPM_TOKEN_CI": true, "COOKIE": true, "COOKIES": true, "SESSION_COOKIES_ALL": true, "CREDENTIALS_BLOB": true, "TOKEN2": true,
		"SORT_KEY": false, "KEYBOARD": false, "TOKENIZERS_PARALLELISM": false, "TOKEN_FILE": false, "PGPASSFILE": false, "SECRET_NAME": false, "SECRETS_DIR": false,
		"PASSWORD_STORE_DIR": false, "COOKIE_DOMAIN": false, "TOKEN_TTL": false, "MAX_TOKENS": false, "KEY_FILE": false, "AUTHOR_PROD": false, "LOCAL": false, "TEST_DATA": false,
		"API_URL": false, "BASE_URL": false, "HOMEPAGE_URL": false, "REDIRECT_URI": false, "NEXT_PUBLIC_SITE_URL": false, "URL": false, "DATABASE_NAME": false,
		"PUBLIC_KEY": false, "STRIPE_PUBLISHABLE_KEY": false, "CACHE_KEY": false, "KEY": false, "PAT": false, "file_pat": false, "map_key": false, "db_url": false,
		"HOME": false, "PATH": false, "GOPATH": false, "NODE_ENV": false, "JAVA_HOME": false, "RUN_ID": false, "GITHUB_RUN_ID": false, "PACKAGE_JSON": false,
		"BUILD_DATA": false, "": false, "_": false, "JSON": false, "_JSON": false, "1": false,
	} {
		if got := IsSecretVariable(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

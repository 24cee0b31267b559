package risk

import "testing"

func TestDestroysData(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT * FROM users": false, "select dropped from t": false, "drop": false, "mydb": false, "": false, "DELETE": false,
		"drop table users": true, "DROP DATABASE x": true, "SELECT 1; drop table x": true, "truncate t": true, "TRUNCATE TABLE t": true,
		"delete from t": true, "DELETE FROM t WHERE id = 1": false, "db.dropDatabase()": true, "db.x.deleteMany({})": true, "/* x */DROP/**/TABLE t": true,
		"delete a": false, "insert into t values (1)": false,
	} {
		if got := destroysData(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for line, want := range map[string]Class{
		"psql -c 'SELECT 1'": Moderate, "psql -c 'drop table t'": High, "mysql -e 'TRUNCATE t' db": High, "sqlite3 x.db 'delete from t'": High,
		"sqlite3 x.db 'select 1'": Moderate, "mongosh --eval 'db.dropDatabase()'": High, "bq query 'drop table x'": High, "psql -V": Safe, "psql": High,
		"sudo -u postgres psql -c 'DROP DATABASE x'": High,
	} {
		if got := Facts(analyze(line), Default); got.Class != want {
			t.Errorf("%q: %+v, want %v", line, got, want)
		}
	}
}

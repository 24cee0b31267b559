package patterns

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// TestSpellings checks that an ask or deny rule matches its command in the
// other spellings that the program accepts, and no other command.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule string
		want Match
		// lines, separated by " | "
		lines string
	}{
		{"Bash(git commit --no-verify:*)", Yes, "git commit -n | git commit -anm x | git commit --no-verify -m x | git -C a commit -n"},
		{"Bash(git commit --no-verify:*)", No, "git commit --verify | git commit -am x | git commit -m -n"},
		{"Bash(git commit -n:*)", Yes, "git commit --no-verify | git commit -an"},
		{"Bash(tool --force:*)", Maybe, "tool -f | tool -xf | tool sub -f"},
		{"Bash(tool -f:*)", Maybe, "tool --force | tool --fast"},
		{"Bash(tool --force:*)", No, "tool -x | tool --gone | tool f"},
		{"Bash(make deploy:*)", Yes, "make all deploy | make -j 4 deploy | make -j4 deploy | make V=1 deploy | make deploy all | gmake deploy | gmake all deploy"},
		{"Bash(make deploy:*)", No, "make all | make -f deploy all | make deploys"},
		{"Bash(make deploy)", No, "make all deploy"},
		{"Bash(mvn deploy:*)", Yes, "mvn clean deploy | mvn -B deploy | mvnw clean deploy"},
		{"Bash(mvn deploy:*)", Maybe, "mvn deploy:deploy"},
		{"Bash(gradle publish:*)", Yes, "gradle build publish | ./gradlew build publish"},
		{"Bash(gradle publish:*)", Maybe, "gradle pub | gradle :publish | gradle :app:publish | gradle build :app:pub"},
		{"Bash(gradle publishToMavenLocal:*)", Maybe, "gradle pTML | gradle pubToM"},
		{"Bash(gradle publish:*)", No, "gradle build | gradle test"},
		{"Bash(just deploy:*)", Yes, "just build deploy"},
		{"Bash(git push:*)", Yes, "/usr/lib/git-core/git-push origin | git-push"},
		{"Bash(git push:*)", Maybe, "git send-pack o | git subtree push o | git subtree -P x push o | git lfs push o | git http-push u | git.exe push"},
		{"Bash(git push:*)", No, "git subtree add o | git stash push | git lfs ls-files"},
		{"Bash(git-push:*)", Yes, "git push | git -C x push | git-push"},
		{"Bash(tool -f:*)", No, "tool -x | tool --gone"},
		{"Bash(git push origin main:*)", No, "git push origin dev | git push main"},
		{"Bash(git push origin main:*)", Yes, "git push origin +main | git push origin HEAD:main | git push origin feat:main | git push origin refs/heads/main | git push origin heads/main"},
		{"Bash(git push origin main:*)", Yes, "git push origin :main | git push origin +:main | git push -d origin main | git push origin feat:refs/heads/main | git push origin dev x:main | git push origin dev main"},
		{"Bash(git push origin main:*)", Yes, "git push origin +refs/heads/dev:refs/heads/main | git push -u origin @:main | git push origin \"$A:main\" | git push -o ci.skip origin x:main"},
		{"Bash(git push origin main:*)", Maybe, "git push | git push origin | git push --all | git push origin --mirror | git push -u origin HEAD | git push origin @ | git push origin : | git push origin +:"},
		{"Bash(git push origin main:*)", Maybe, "git push --branches origin | git push origin 'refs/heads/*:refs/heads/*' | git push origin '*' | git push origin \"HEAD:$B\" | git push origin @{-1} | git push origin \"$A/main\""},
		{"Bash(git push origin main:*)", Maybe, "git push --force | git send-pack origin HEAD:main | git push origin a:b a:b a:b a:b a:b a:b a:b a:b a:b a:b a:b a:b a:b a:b a:b a:b x:main"},
		{"Bash(git push origin main:*)", No, "git push --tags | git push origin --tags | git push origin main:dev | git push origin HEAD:refs/for/main | git push origin maintenance | git push upstream HEAD"},
		{"Bash(git push origin main)", Yes, "git push origin HEAD:main"},
		{"Bash(git push origin main)", Maybe, "git push | git push --all origin | git push origin HEAD"},
		{"Bash(git push * main)", Yes, "git push origin +main | git push origin HEAD:main | git push -f o x:main | git push o :main | git push o a:main b:dev | git push origin refs/heads/main"},
		{"Bash(git push * main)", Maybe, "git push | git push --mirror o | git push -u origin HEAD | git push origin"},
		{"Bash(git push * main)", No, "git push origin main:dev | git push --tags | git push origin dev | git pull origin main"},
		{"Bash(git push * main)", Yes, "git -C x push origin main | git -c a.b=c push -f origin main | git --no-pager push o HEAD:main"},
		{"Bash(docker rm * prod)", Yes, "docker --context x rm -f prod | docker -H y rm -v prod"},
		{"Bash(kubectl delete * prod)", Yes, "kubectl -n x delete ns prod | kubectl --context=y delete ns/prod"},
		{"Bash(kubectl delete * prod)", No, "kubectl -n prod get x | kubectl -n x delete ns prod-2"},
		{"Bash(git push * release/*)", Maybe, "git push | git push origin HEAD"},
		{"Bash(git push * release/*)", Yes, "git push origin HEAD:release/1"},
		{"Bash(git push --force:*)", Yes, "git push origin +x | git push -f"},
		{"Bash(git push --force:*)", No, "git push | git push origin HEAD | git push --all | git push origin x:main"},
		{"Bash(git push * --force)", No, "git push | git push origin HEAD | git push --all"},
		{"Bash(git push *--force*)", No, "git push | git push origin HEAD | git push --tags"},
		{"Bash(git push --force origin main:*)", Yes, "git push origin +main | git push origin +x:main | git push -f origin x:main"},
		{"Bash(git push --force origin main:*)", No, "git push origin main | git push origin x:main | git push"},
		{"Bash(git push origin +main:*)", No, "git push origin main | git push origin x:main"},
		{"Bash(git push origin HEAD:main)", Maybe, "git push origin main | git push origin feat:main | git push origin HEAD:refs/heads/main"},
		{"Bash(git push origin refs/heads/main)", Maybe, "git push origin main"},
		{"Bash(git branch -D main:*)", Yes, "git branch -D x main | git branch -D main x"},
		{"Bash(git branch -D main:*)", Maybe, "git branch -d -f main | git branch -df x main | git branch --delete --force main | git update-ref -d refs/heads/main | git update-ref -d -m x refs/heads/main | git push . :main"},
		{"Bash(git branch -D main:*)", No, "git branch -D x | git branch -d main | git branch -f main x | git update-ref refs/heads/main x | git push origin :main"},
		{"Bash(git branch -f main:*)", Maybe, "git fetch origin x:main | git fetch . +x:main | git update-ref refs/heads/main x | git pull origin dev:main | git push . dev:main"},
		{"Bash(git branch -f main:*)", No, "git fetch origin main | git branch -f dev | git push origin dev:main | git branch main"},
		{"Bash(git fetch * main)", Yes, "git fetch origin x:main | git fetch origin +x:main | git fetch origin +main | git fetch origin +refs/heads/main:refs/remotes/origin/main"},
		{"Bash(git fetch * main)", No, "git fetch | git fetch --all | git fetch origin dev | git pull"},
		{"Bash(git update-ref refs/heads/main:*)", Yes, "git update-ref refs/heads/main x | git update-ref -d refs/heads/main"},
		{"Bash(npm publish:*)", Maybe, "npm pub | npm publis | npm --tag x publi"},
		{"Bash(npm publish:*)", No, "npm run publish | npm install publis"},
		{"Bash(npm uninstall:*)", Yes, "npm r x | npm un x | npm unlink x"},
		{"Bash(npm exec:*)", Yes, "npx y | npm x y"},
		{"Bash(npm install:*)", Yes, "npm isntall | npm i | npm in x | npm add x"},
		{"Bash(npm run deploy:*)", Maybe, "pnpm run deploy | yarn deploy | yarn run deploy | bun run deploy"},
		{"Bash(npm:*)", No, "pnpm lint | pnpm run lint | pnpm test | yarn lint | yarn run lint -- --fix | bun run lint | bun lint | pnpm install"},
		{"Bash(pnpm:*)", No, "npm run lint | npm test | npm t | npm start | yarn lint | bun run lint | npm install"},
		{"Bash(yarn *)", No, "npm run lint | pnpm lint | npm test | bun run lint"},
		{"Bash(bun:*)", No, "npm run lint | pnpm lint | yarn lint"},
		{"Bash(npm:*)", Maybe, "pnpm publish | yarn publish | bun publish"},
		{"Bash(npm:*)", Yes, "npx x | npm run lint"},
		{"Bash(npm run:*)", Maybe, "pnpm run lint | yarn lint | bun run lint"},
		{"Bash(pnpm run lint)", Maybe, "npm run lint | yarn lint"},
		{"Bash(docker-compose:*)", Yes, "docker compose up"},
		{"Bash(python:*)", Maybe, "python3 a.py"},
		{"Bash(npm run deploy:*)", No, "yarn build | pnpm run build"},
		{"Bash(gem install:*)", Maybe, "gem inst x | gem instal x"},
		{"Bash(hg commit:*)", Yes, "hg ci | hg ci -m x"},
		{"Bash(hg commit:*)", Maybe, "hg comm | hg -R x ci | hg --cwd x com"},
		{"Bash(hg commit:*)", No, "hg status | hg st"},
		{"Bash(svn commit:*)", Yes, "svn ci -m x"},
		{"Bash(tmux kill-server:*)", Maybe, "tmux kill-ser | tmux -L x kill-serv"},
		{"Bash(ip link delete:*)", Maybe, "ip lin delete x | ip lin del x"},
		{"Bash(docker rm:*)", Yes, "docker container rm x | docker --debug container rm -f x | docker container remove x"},
		{"Bash(docker container rm:*)", Yes, "docker rm x | docker -D rm x"},
		{"Bash(docker rm:*)", No, "docker container ls | docker image rm x | docker ps | podman rm x"},
		{"Bash(docker rmi:*)", Yes, "docker image rm x | docker image remove x"},
		{"Bash(docker run --privileged:*)", Yes, "docker container run --privileged i"},
		{"Bash(docker run --privileged:*)", No, "docker container run i"},
		{"Bash(docker compose down:*)", Yes, "docker-compose down | docker-compose -f x down | docker compose -f x down"},
		{"Bash(docker-compose down:*)", Yes, "docker compose down | docker -D compose -f x down"},
		{"Bash(docker-compose down:*)", No, "docker compose up | docker down"},
		{"Bash(kubectl delete:*)", Yes, "minikube kubectl -- delete x | k3s kubectl delete x | microk8s kubectl delete x | k delete x"},
		{"Bash(kubectl delete:*)", Maybe, "oc delete x"},
		{"Bash(kubectl delete pod:*)", Yes, "kubectl delete po x | kubectl delete pods x | kubectl -n y delete pods x"},
		{"Bash(pip install:*)", Yes, "pip3 install x | uv pip install x"},
		{"Bash(pip install:*)", Maybe, "pip3.11 install x"},
		{"Bash(pip3 install:*)", Yes, "pip install x"},
		{"Bash(python:*)", Maybe, "python3 x | python3.12 x | python.exe x"},
		{"Bash(python3.12:*)", Maybe, "python3 x | python x"},
		{"Bash(python3.12:*)", No, "python3.11 x | python2 x"},
		{"Bash(bundle exec:*)", Yes, "bundler exec x"},
		{"Bash(yarn add:*)", Yes, "yarnpkg add x"},
		{"Bash(composer require:*)", Maybe, "composer req x"},
		{"Bash(composer require:*)", Yes, "composer r x"},
		{"Bash(rm a:*)", Yes, "rm b a | rm -f b c a"},
		{"Bash(rm a:*)", No, "rm b | rm -f b"},
		{"Bash(git branch -D:*)", Maybe, "git branch -d -f x | git branch --delete --force x | git branch -df x"},
		{"Bash(git branch -D:*)", Yes, "git branch -D x"},
		{"Bash(git branch -D:*)", No, "git branch -d x | git branch -f x y"},
		{"Bash(npm publish:*)", Maybe, "npm@latest publish | pnpm publish | bun publish | yarn npm publish"},
		{"Bash(pip install:*)", Maybe, "pip._internal.cli.main install x"},
		{"Bash(yum install:*)", Yes, "dnf install x"},
		{"Bash(hg commit:*)", Yes, "chg commit"},
		{"Bash(az group delete:*)", Yes, "azure.cli group delete"},
		{"Bash(make deploy:*)", Maybe, "bmake deploy | remake all deploy"},
		{"Bash(invoke deploy:*)", Yes, "inv deploy | inv build deploy"},
		{"Bash(gradle publish:*)", Maybe, "gradle.bat publish"},
		{"Bash(php artisan migrate:fresh:*)", Maybe, "php artisan mig:fr | php artisan migrate:fr"},
		{"Bash(reboot:*)", Maybe, "init 6 | telinit 6 | systemctl reboot"},
		{"Bash(reboot:*)", No, "init 3 | systemctl status"},
		{"Bash(chmod 777:*)", No, "chmod 644 777"},
		{"Bash(npm publish:*)", No, "npm logout | npm unpublish x | npm dist-tag ls | npm owner ls"},
		{"Bash(npm dist-tag:*)", Yes, "npm dist-tags ls"},
		{"Bash(npm install:*)", No, "npm uninstall x | npm ci | npm update | npm prune"},
		{"Bash(npm update:*)", Yes, "npm upgrade | npm up | npm udpate"},
		{"Bash(npm run test:*)", Yes, "npm test | npm t | npm tst x"},
		{"Bash(npm test:*)", Yes, "npm run test | npm t"},
		{"Bash(npm test:*)", No, "npm run build | npm start | npm run t"},
		{"Bash(npm run:*)", Yes, "npm test | npm start | npm run-script x | npm rum x"},
		{"Bash(npm start:*)", Maybe, "npm restart"},
		{"Bash(npm test:*)", Maybe, "npm run-script test"},
		{"Bash(npm config set:*)", Yes, "npm set a b | npm c set a b"},
		{"Bash(gem push:*)", No, "gem install x | gem yank x"},
		{"Bash(gem install:*)", Yes, "gem i x"},
		{"Bash(cargo publish:*)", No, "cargo add x | cargo yank | cargo update"},
		{"Bash(cargo login:*)", No, "cargo logout"},
		{"Bash(brew uninstall:*)", Yes, "brew rm x | brew remove x"},
		{"Bash(brew uninstall:*)", No, "brew install x | brew update"},
		{"Bash(apt remove:*)", Maybe, "apt purge x | apt-get purge x | apt autoremove"},
		{"Bash(apt purge:*)", Maybe, "apt remove --purge x"},
		{"Bash(apt purge:*)", No, "apt update | apt install x"},
		{"Bash(systemctl stop:*)", Maybe, "systemctl disable --now x | systemctl mask --now x"},
		{"Bash(systemctl stop:*)", No, "systemctl disable x | systemctl start x | systemctl restart x"},
		{"Bash(terraform destroy:*)", Maybe, "terraform apply -destroy | tofu apply -destroy"},
		{"Bash(terraform destroy:*)", No, "terraform plan | terraform apply"},
		{"Bash(helm uninstall:*)", Yes, "helm delete x | helm del x"},
		{"Bash(helm uninstall:*)", No, "helm rollback x | helm test x"},
		{"Bash(helm install:*)", Maybe, "helm upgrade -i x y | helm upgrade --install x y"},
		{"Bash(tmux kill-session:*)", No, "tmux kill-window | tmux ls"},
		{"Bash(tmux kill-window:*)", Yes, "tmux killw"},
		{"Bash(vault delete:*)", Maybe, "vault kv delete x"},
		{"Bash(rustup toolchain install:*)", Yes, "rustup install x"},
		{"Bash(git remote remove:*)", Yes, "git remote rm x"},
		{"Bash(git remote remove:*)", No, "git remote show x | git remote set-url x y"},
		{"Bash(git stash drop:*)", No, "git stash pop | git stash apply"},
		{"Bash(git stash push:*)", Yes, "git stash save"},
		{"Bash(docker compose rm:*)", No, "docker compose build | docker compose restart"},
		{"Bash(kubectl delete pod:*)", Yes, "kubectl delete pod/x | kubectl delete po/x | kubectl delete pods.v1. x | kubectl delete Pods x | kubectl delete pod,svc x | kubectl delete svc,po x | kubectl delete svc/a pods/b | kubectl -n x delete --wait=false po/y | k delete po/x | minikube kubectl -- delete po/x"},
		{"Bash(kubectl delete pod:*)", Maybe, "kubectl delete all --all | kubectl delete -f x.yml | kubectl delete -k d | kubectl delete --raw /api/v1/pods/x"},
		{"Bash(kubectl delete pod:*)", No, "kubectl delete svc/x | kubectl delete deploy x | kubectl get po/x | kubectl delete svc,deploy x"},
		{"Bash(kubectl delete deployment:*)", Yes, "kubectl delete deploy/x | kubectl delete deployments.apps/x | kubectl delete deployment.v1.apps x"},
		{"Bash(kubectl delete pod/web)", Yes, "kubectl delete pod web | kubectl delete po/web | kubectl delete pods web"},
		{"Bash(kubectl delete pod/web)", No, "kubectl delete pod db | kubectl delete svc web"},
		{"Bash(kubectl delete widgets:*)", Yes, "kubectl delete widget x | kubectl delete widgets.example.com/x"},
		{"Bash(kubectl get secret:*)", Yes, "kubectl get secrets | kubectl get po,secrets -A | kubectl get secret/x -o yaml"},
		{"Bash(kubectl rollout restart deploy:*)", Yes, "kubectl rollout restart deployment/x"},
		{"Bash(kill -9:*)", Yes, "kill -KILL 1 | kill -SIGKILL 1 | kill -kill 1 | kill -s KILL 1 | kill -s 9 1 | kill -sKILL 1 | kill -n 9 1 | kill --signal=sigkill 1 | kill -9 -1"},
		{"Bash(kill -9:*)", No, "kill 1 | kill 9 | kill -15 1 | kill -HUP 9 | kill -s TERM 9 | kill -l"},
		{"Bash(kill -KILL:*)", Yes, "kill -9 1 | kill -s 9 1"},
		{"Bash(kill -s SIGKILL:*)", Yes, "kill -9 1 | kill -n 9 1"},
		{"Bash(kill -TERM:*)", Yes, "kill 1 | kill -15 1"},
		{"Bash(kill -TERM:*)", Maybe, "kill $X | kill -$X 1 | kill -s $X 1"},
		{"Bash(pkill -9:*)", Yes, "pkill -KILL x | pkill -SIGKILL x | pkill --signal KILL x | pkill --signal=9 x"},
		{"Bash(pkill -9:*)", No, "pkill x | pkill -TERM x"},
		{"Bash(killall -KILL:*)", Yes, "killall -9 x | killall -s KILL x | killall -s9 x"},
		{"Bash(docker kill --signal KILL:*)", Yes, "docker kill -s 9 x | docker container kill --signal=SIGKILL x"},
		{"Bash(docker kill --signal KILL:*)", No, "docker kill -s HUP x"},
		{"Bash(git push --delete:*)", Yes, "git push origin :x | git push -d o x | git push origin main :x | git push o +:x | git push o :$B"},
		{"Bash(git push --delete:*)", Maybe, "git push --mirror o | git push --prune o"},
		{"Bash(git push --delete:*)", No, "git push origin main:x | git push o : | git push o +x"},
		{"Bash(git push --force:*)", Yes, "git push origin +main | git push o +:x | git push o +a:b"},
		{"Bash(git checkout:*)", Maybe, "git switch main | git restore a | git checkout-index -a"},
		{"Bash(git checkout -f:*)", Maybe, "git switch -f x | git switch --discard-changes x"},
		{"Bash(git checkout -b:*)", Maybe, "git switch -c x | git switch --create x"},
		{"Bash(git switch -C:*)", Maybe, "git checkout -B x"},
		{"Bash(git switch -f:*)", Yes, "git switch --discard-changes x"}, // git-switch(1): an alias
		{"Bash(git switch:*)", No, "git checkout main"},
		{"Bash(git switch -C:*)", No, "git checkout -b x"},
		{"Bash(git reset --hard:*)", Maybe, "git checkout -f | git switch --discard-changes x | git read-tree --reset -u HEAD"},
		{"Bash(git reset --hard:*)", No, "git checkout main | git switch main"},
		{"Bash(git branch -D:*)", Maybe, "git update-ref -d refs/heads/x"},
		{"Bash(git branch -D:*)", No, "git update-ref refs/heads/x HEAD"},
		{"Bash(git rebase:*)", Maybe, "git pull --rebase | git pull -r"},
		{"Bash(git rebase:*)", No, "git pull"},
		{"Bash(git merge:*)", Maybe, "git pull"},
		{"Bash(chmod 777:*)", Yes, "chmod a+rwx x | chmod -R ugo=rwx x | chmod 0777 x | chmod a=rwx x"},
		{"Bash(chmod 777:*)", No, "chmod 755 x | chmod a+rx x"},
		{"Bash(systemctl stop:*)", Yes, "service x stop | /etc/init.d/x stop | rc-service x stop | invoke-rc.d x stop | systemctl --user stop x.service"},
		{"Bash(systemctl stop:*)", No, "service x status | service stop status | systemctl status stop | /etc/init.d/stop status"},
		{"Bash(service nginx stop:*)", Yes, "systemctl stop nginx | systemctl stop nginx.service"},
		{"Bash(systemctl restart nginx:*)", No, "service apache2 restart | systemctl restart a.service"},
		{"Bash(redis-cli FLUSHALL:*)", Yes, "redis-cli flushall | redis-cli -n 1 FlushAll"},
		{"Bash(redis-cli FLUSHALL:*)", No, "redis-cli get | redis-cli FLUSHDB"},
		{"Bash(npm run deploy:*)", Maybe, "turbo run deploy | turbo deploy | turbo run build deploy | turbo run app#deploy | nx deploy app | nx run app:deploy | nx run app:deploy:prod | nx run-many -t deploy | nx run-many --targets=build,deploy | nx run-many -t build deploy | nx affected --target deploy | lerna run deploy | moon run app:deploy | node --run deploy | nr deploy | rushx deploy | run-s build deploy | npm-run-all deploy | concurrently npm:deploy npm:x | nx affected -t $T"},
		{"Bash(npm run deploy:*)", No, "turbo run build | nx build app | nx run deploy:build | nx run-many -t build | run-s build | concurrently npm:build | node deploy"},
		{"Bash(turbo deploy:*)", Yes, "turbo deploy | turbo build deploy"},
		{"Bash(turbo run deploy:*)", Maybe, "turbo deploy | turbo build deploy"},
		{"Bash(nx deploy:*)", Maybe, "nx run app:deploy | nx run-many -t deploy | nx affected --targets=build,deploy"},
		{"Bash(nx deploy:*)", No, "nx build deploy2 | nx run app:build"},
		{"Bash(git-push)", Yes, "git push"},
		{"Bash(git-push)", No, "git push origin"},
		{"Bash(rm.sh:*)", No, "rm x"},
		{"Bash(rm:*)", No, "./rm.sh"},
	} {
		r := rule(t, test.rule, Deny)
		for line := range strings.SplitSeq(test.lines, " | ") {
			if m := first(t, r, line); m != test.want {
				t.Errorf("deny %s on %q: %v, want %v", test.rule, line, m, test.want)
			}
			if m := first(t, rule(t, test.rule, Allow), line); m == Yes && test.want != Yes {
				t.Errorf("allow %s on %q: %v", test.rule, line, m)
			}
		}
	}
}

// TestAllowComparesWords checks that an allow rule matches no other spelling.
func TestAllowComparesWords(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]string{
		"Bash(docker rm:*)": "docker container rm x", "Bash(pip install:*)": "pip3 install x", "Bash(git push:*)": "git-push",
		"Bash(npm publish:*)": "npm publ", "Bash(make deploy:*)": "make all deploy", "Bash(hg commit:*)": "hg ci", "Bash(python:*)": "python3 x",
	} {
		if m := first(t, rule(t, text, Allow), line); m != No {
			t.Errorf("allow %s on %q: %v", text, line, m)
		}
	}
}

// TestEverySpelling checks for each pair in the catalogue that a rule about one
// side matches the other one, including in a set with an index.
func TestEverySpelling(t *testing.T) {
	t.Parallel()
	pairs := 0
	fill := []string{"Bash(a:*)", "Bash(b:*)", "Bash(c:*)", "Bash(d:*)"}
	for p := range program.Builtin {
		for i := range p.Also {
			a := &p.Also[i]
			pairs++
			text := "Bash(" + strings.Join(a.To, " ") + ":*)"
			line := strings.Join(slices.Concat([]string{p.Name}, a.From, a.With), " ")
			if len(a.From) == 0 && a.To[0] == p.Name {
				text, line = strings.Replace(text, ":*", " zzz:*", 1), line+" zzz"
			}
			r := rule(t, text, Deny)
			if m := first(t, r, line); m == No {
				t.Errorf("deny %s on %q: no match", text, line)
			}
			rules := []*Rule{r}
			for _, other := range fill {
				rules = append(rules, rule(t, other, Deny))
			}
			sub := commands(line)[0]
			if _, m := NewSet(here, rules...).Match(sub, Query{}); m == No {
				t.Errorf("deny %s among others on %q: no match", text, line)
			}
		}
	}
	if pairs < 200 {
		t.Errorf("only %d pairs", pairs)
	}
}

// TestSubcommandsListedTogether checks for all subcommands of which one section
// tells, and for those that share its lines, that a rule about one matches those
// that are synonyms, and no other one.
func TestSubcommandsListedTogether(t *testing.T) {
	t.Parallel()
	pairs := 0
	for p := range program.Builtin {
		pairs += listedTogether(t, p, p, p.Name)
	}
	if pairs < 20000 {
		t.Errorf("only %d pairs", pairs)
	}
}

// listedTogether checks the subcommands below p, whose words are line, and returns
// how many pairs it compared.
func listedTogether(t *testing.T, prog, p *program.Program, line string) int {
	pairs := 0
	for a := range p.Subs {
		r := rule(t, "Bash("+line+" "+a.Name+":*)", Deny)
		for b := range p.Subs {
			if !slices.Equal(a.Path, b.Path) || a == b {
				continue
			}
			pairs++
			m := first(t, r, line+" "+b.Name)
			if same := a.Main() == b.Main(); same && m != Yes || !same && m != No && !linked(prog, a.Name, b.Name) {
				t.Errorf("deny %s %s on %s %s: %v", line, a.Name, line, b.Name, m)
			}
		}
		if a.Main() == a.Name {
			pairs += listedTogether(t, prog, a, line+" "+a.Name)
		}
	}
	return pairs
}

// linked reports whether another line of the catalogue makes b do what a does, or
// whether b may abbreviate a.
func linked(p *program.Program, a, b string) bool {
	also := slices.Clone(p.Also)
	for i := range p.Also {
		if other := program.Lookup(p.Also[i].To[0]); len(p.Also[i].From) == 0 && other != nil {
			also = append(also, other.Also...)
		}
	}
	named := func(alias program.Alias) bool { return slices.Contains(alias.From, b) || slices.Contains(alias.To, b) }
	return slices.ContainsFunc(also, named) || p.Abbreviates && strings.HasPrefix(a, b)
}

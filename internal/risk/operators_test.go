package risk

import (
	"strings"
	"testing"
)

// acting are commands that change something, of programs that also read. None
// may run without an ask; those behind "high:" and "forbidden:" have at least
// that class.
const acting = `
bat --pager='sh -c x' f
bat cache --build
batcat --pager=x f
yq -i '.a = 1' f.yaml
yq --inplace '.a = 1' f.yaml
yq -s .name f.yaml
black src
black -q src
isort .
isort --diff . --settings-path $x
ruff check --fix
ruff check .
ruff format
cloc --extract-with='sh x' a
cloc --out=x .
scc -o x .
nvidia-smi -pm 1
nvidia-smi --gpu-reset
nvidia-smi -r
nvidia-smi -q -pm 1
xmllint --output x f.xml
zless +!sh f
less +!sh f
delta --pager=x a b
arch -x86_64 ls
curl https://example.com
curl -h https://example.com -d x
wget -q https://example.com
mktemp
mktemp -d
openssl genrsa -out key.pem
openssl x509 -in a.pem -out b.pem
openssl x509 -noout -in a.pem -out b.pem
openssl req -new
openssl enc -d -in x
git archive -o x.tar HEAD
git archive --remote=host HEAD
git rerere
git rerere clear
git format-patch HEAD~3
git clean -n -f
git config core.pager x
git branch -f main
git tag -d v1
git remote add x y
git log --output=x
git diff --ext-diff
git grep -O x
helm install x y
helm -h install x
cargo -h build
helm upgrade x y --dry-run
kubectl run x --image=y --dry-run=client
kubectl apply -f x --dry-run=server
kubectl config use-context x
kubectl config set-context x
kubectl rollout restart deploy/x
kubectl auth reconcile -f x
kubectl proxy
kubectl port-forward x 80
kubectl cp a b:c
kubectl exec x -- ls
kubectl drain x
kubectl label pod x a=b
oc new-app x
argocd app sync x
argocd context x
argocd login x
flux reconcile source git x
flux suspend kustomization x
kubectx prod
kubens x
kubectx -d x
crictl exec x ls
crictl stop x
etcdctl put a b
etcdctl check perf
etcdctl defrag
istioctl install
velero restore create x
kubeadm token list
kubeadm init
kustomize build .
minikube start
kind create cluster
kind get kubeconfig
qm start 100
qm migrate 100 node2
qm monitor 100
qm config 100 --current $x
pct exec 100 ls
pct enter 100
pvesh set /nodes/x
pvesh create /nodes/x
pvecm add x
pveam download local x
pveum user add x@pve
pve-firewall stop
corosync-cfgtool -R
corosync-cfgtool -s -R
vzdump 100
ceph osd out 1
ceph osd out 1 -s
ceph auth get client.admin
ceph config set a b c
rbd create x
rbd snap create x@y
nvme reset /dev/nvme0
systemctl edit x
systemctl daemon-reload
systemctl set-property x y=z
systemctl kill x
systemctl start x
systemd-run ls
systemd-analyze set-log-level debug
systemd-tmpfiles --create
busctl call a b c d
busctl set-property a b c d e f
resolvectl flush-caches
resolvectl dns eth0 1.1.1.1
coredumpctl debug
coredumpctl dump -o x
udevadm trigger
udevadm settle
udevadm info --cleanup-db
bootctl install
machinectl start x
machinectl shell
localectl set-locale x
hostnamectl set-hostname x
timedatectl set-time x
loginctl terminate-user x
journalctl --rotate
apt-mark hold x
apt-key add x
apt update
git commit -n
git add x
git rm -n -f x
nginx -t
nginx -s stop
logrotate -f x
chronyc makestep
patch -p1
netplan apply
pytest
make -n
npm publish --dry-run
helm install x y --dry-run
docker service rm x
dpkg-deb -x a b
dpkg -i x
flatpak run x
poetry install
poetry run x
poetry add x
poetry config a b
poetry env use x
conda run ls
conda config --set a b
rustup update
rustup show
rustup default x
asdf install
asdf latest x
uv run x
uv sync
uv tree
uv version 2
uv python install
uv pip install x
update-alternatives --set a b
ldconfig
psql -c 'SELECT 1'
psql -l -c 'SELECT f()'
mysql -e 'SELECT 1'
sqlite3 x.db 'select 1'
redis-cli set a b
redis-cli keys '*' --eval x
redis-cli get a --rdb x
redis-cli config set a b
mysqladmin flush-hosts
mysqladmin password x
pg_restore -d x f
pg_dump x
createdb x
gsutil cp a b
gsutil iam set x
bq query 'select 1'
bq mk x
s3cmd put a b
rclone copy a b
rclone mount a b
vault kv get x
vault read x
vault write x y=z
vault login x
consul kv put a b
nomad job run x
pulumi up
pulumi preview
vagrant up
vagrant status
virsh start x
virsh setmem x 1
doctl compute droplet create x
hcloud server create
eksctl create cluster
flyctl deploy
heroku run x
heroku restart
heroku config:set a=b
aws s3 cp a b
aws s3 sync a b
aws s3api put-object --bucket b
aws s3api get-object --bucket b --key k out
aws ec2 run-instances
aws ec2 create-tags
aws sts get-session-token
aws ecr get-login-password
aws ssm get-parameters-by-path --path /
aws lambda invoke --function-name x out
aws configure set a b
az vm start --name x
az login
az rest --url x
gcloud compute instances start x
gcloud auth print-access-token
gcloud config set a b
glab mr create
glab mr merge 1
svn update
svn checkout x
svn commit
hg status
hg push
gh pr create
gh pr merge 1
gh api -X DELETE x
gh api x -f a=b
gh auth token
gh workflow run x
gh run rerun 1
ethtool -s eth0 speed 100
trivy image x
skopeo copy a b
crane push a b
buildah run x ls
terragrunt plan
terraform plan
terraform fmt
terraform import a b
terraform state mv a b
terraform workspace select x
ansible all --list-hosts
ansible-doc -l
diskutil mount disk1
defaults write a b c
launchctl load x
launchctl kickstart x
networksetup -setdnsservers Wi-Fi 1.1.1.1
pkgutil --forget x
pkgutil --expand a b
plutil -convert json f
plutil -replace a -string b f
profiles install x
scutil --set HostName x
sips -z 1 1 x.png
sips -g all -s format jpeg x.png
spctl --add x
codesign -s x y
codesign -d --extract-certificates x
hdiutil attach x
dscl . -create /Users/x
dscl . delete /Users/x
tmutil startbackup
lipo -thin x86_64 a -output b
xattr -w a b f
xattr -c f
xattr -cr d
security dump-keychain
security find-generic-password -s x -w
security add-generic-password
sysctl -w a=b
sysctl -d -w a=b
sysctl a=b -e
ifconfig eth0 down
ifconfig -a eth0 down
ip link set eth0 up
command -v -- -x
command -pv -- git reset --hard
npm audit fix
npm config set a b
npm run x
npm test --help -- x
npm exec x
pip download x
pip config set a b
docker run x --help
docker exec x --help
docker build .
docker cp a b:c
docker compose up
go generate
go env -w A=b
go mod tidy
find . -fprint x
find . -delete
find . -exec touch {} ;
find . -execdir sh -c x ;
high: etcdctl del x
high: etcdctl member remove x
high: argocd app delete x
high: flux uninstall
high: crictl rmi x
high: kubeadm reset
high: minikube delete
high: velero backup delete x
high: istioctl uninstall
high: ceph osd purge 1
high: ceph osd pool delete x
high: rbd rm x
high: pveceph purge
high: qmrestore a 100
high: qm destroy 100
high: pct destroy 100
high: zfs destroy x
high: udevadm info -c
high: machinectl remove x
high: psql -c 'DROP TABLE x'
high: psql --command='truncate x'
high: mysql -e 'drop database x'
high: sqlite3 -safe x.db 'DROP TABLE users'
high: redis-cli FLUSHALL
high: mysqladmin drop x
high: dropdb x
high: mongorestore d
high: gsutil rm x
high: gsutil -m rm -r gs://x
high: bq rm x
high: s3cmd del x
high: rclone purge x
high: rclone sync a b
high: rclone delete x
high: vault kv delete x
high: consul kv delete x
high: nomad job stop x
high: pulumi destroy
high: vagrant destroy
high: virsh destroy x
high: virsh undefine x
high: doctl compute droplet delete x
high: hcloud server delete x
high: eksctl delete cluster x
high: flyctl apps destroy x
high: fly apps destroy x
high: heroku apps:destroy x
high: heroku pg:reset x
high: aws ec2 terminate-instances --instance-ids i
high: aws s3 rb s3://x
high: aws s3 rm s3://x
high: az group delete --name x
high: gcloud projects delete x
high: glab repo delete x
high: gh repo delete x
high: hg strip x
high: skopeo delete x
high: crane delete x
high: terragrunt destroy
high: helm uninstall x
high: terraform destroy
high: docker volume rm x
high: docker system prune
high: apt-get remove x
high: dnf remove x
high: git reset --hard
high: tmutil delete x
high: npm publish
high: poetry publish
high: uv publish
forbidden: nvme format /dev/nvme0n1
forbidden: diskutil eraseDisk x y disk1
forbidden: zpool destroy x
forbidden: wipefs -a /dev/sda
`

func TestActingUsesAreAsked(t *testing.T) {
	for line := range strings.SplitSeq(strings.TrimSpace(acting), "\n") {
		least := Moderate
		if name, rest, found := strings.Cut(line, ": "); found {
			if c, ok := ParseClass(name); ok {
				least, line = c, rest
			}
		}
		for _, p := range []Profile{Default, Terminal} {
			if got := Facts(analyze(line), p); got.Class < least {
				t.Errorf("%q: %+v, want %v at least", line, got, least)
			}
		}
	}
}

// The commands with which operators inspect a system run without an ask.
func TestLookingRunsUnasked(t *testing.T) {
	for line := range strings.SplitSeq(strings.TrimSpace(`
kubectl get pods -A -o wide
kubectl -n x logs -f deploy/y --tail=100
kubectl get events --sort-by=.lastTimestamp
kubectl rollout history deploy/x
kubectl top nodes
kubectl api-resources
kubectl explain pod.spec
kubectl get pods -l app=x -w
kubectl config current-context
oc get routes
helm list -A
helm status x
helm get values x
helm history x
argocd app list
argocd app get x
flux get kustomizations
kubectx
stern -n x y
crictl ps
etcdctl endpoint health
pvecm status
pvecm nodes
pvesh get /nodes
qm list
qm config 100
pct list
pvesm status
pveversion -v
ceph -s
ceph health detail
ceph osd tree
rbd ls
zpool status
zfs list
ha-manager status
systemctl status nginx
systemctl list-units --failed
systemctl is-active x
systemctl cat x
journalctl -u x --since today -n 50
journalctl -xe
systemd-analyze blame
resolvectl status
coredumpctl list
timedatectl
hostnamectl
loginctl list-sessions
busctl list
apt list --installed
apt-cache policy x
apt-mark showhold
apt-get install -s x
apt-get -s upgrade
apt install x --dry-run
apt-get --simulate remove x
git add -n .
git add --dry-run .
git commit --dry-run
git rm -n x
patch --dry-run -p1
nginx -V
chronyc tracking
logrotate -d x
docker service ls
dpkg -l
dnf list installed
rpm -qa
nvidia-smi -q
nvidia-smi -L
pacman -Q
snap list
flatpak list
brew list
pip list
npm ls
conda list
git status --short
git log --oneline -5
git diff HEAD~1
git show HEAD
git blame f
git rerere status
git archive HEAD
git stash list
docker ps -a
docker logs x --tail 10
docker images
redis-cli info
pg_isready
aws ec2 describe-instances --region us-east-1
aws s3 ls
aws help
az vm list
gcloud compute instances list
gcloud logging read severity>=ERROR
gh pr view 1
glab mr list
gsutil ls
vault status
consul members
nomad status
virsh list --all
doctl compute droplet list
svn status
curl --version
curl -h
helm -h
helm install --help
kubectl delete --help
mktemp -u
openssl version
openssl x509 -noout -dates -in x.pem
shellcheck x.sh
yq .a f.yaml
bat f
black --check .
isort --check-only .
ss -tlnp
ip addr
df -h
free -m
lsblk
uptime
ps aux
find . -name '*.go' -exec wc -l {} +
find . -type f -execdir grep -l x {} ;
`), "\n") {
		line = strings.NewReplacer(" ;", ` \;`, ">=", `\>=`).Replace(line)
		if got := Facts(analyze(line), Default); got.Class != Safe {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

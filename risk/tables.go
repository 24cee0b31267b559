package risk

// program is one entry of the tables. A table is sorted by name, so that a
// name has one class, and is searched by halves.
type rated struct {
	name string
	rows []row
}

// row gives the class of some uses of a program. Of the rows that hold, those
// that name the longest subcommand path count, and of these the first.
type row struct {
	// subs are the subcommand paths that the row speaks of: "get config/view
	// */describe-*". Empty stands for the program itself. A * stands for any
	// text of one path segment.
	subs string
	// with must all be there: "-f|--force" is an option in any of its
	// spellings, "+1" at least one operand behind the path, "+0" none,
	// "@pattern" an operand of this form, "!destroys" a word that is a statement
	// that removes data from a database. Empty asks for nothing.
	with   string
	class  Class
	reason cause
	// free are options that may be there as well although the catalogue
	// does not list them.
	free string
}

// Rows that many programs share.
var (
	reads     = []row{{class: Safe, reason: readOnly}}
	changes   = []row{{class: Moderate, reason: mutating}}
	ruins     = []row{{class: High, reason: destructive}}
	shellOnly = []row{{class: Safe, reason: ownShell}}
	wraps     = []row{{class: Safe, reason: wrapper}}
	runs      = []row{{class: Moderate, reason: runsCode}}
	asRoot    = []row{{class: High, reason: needsRoot}}
	goesOut   = []row{{class: Moderate, reason: remote}}
	stops     = []row{{class: Forbidden, reason: power}}
	formats   = []row{{class: Forbidden, reason: disks}}
	onDisks   = []row{{class: High, reason: disks}}
	onUsers   = []row{{class: High, reason: users}}

	shells = []row{
		{with: "-c", class: Safe, reason: wrapper},
		{class: Moderate, reason: runsCode},
	}
	listsOrFormats = []row{
		{with: "-l|--list", class: Safe, reason: readOnly},
		{class: Forbidden, reason: disks},
	}
	showsOrChanges = []row{
		{with: "+1", class: Moderate, reason: mutating},
		{class: Safe, reason: readOnly},
	}
	controls = []row{
		{subs: "status show list-*", class: Safe, reason: readOnly},
		{with: "+1", class: Moderate, reason: mutating},
		{class: Safe, reason: readOnly},
	}
	finders = []row{
		{with: "-x|--exec|-X|--exec-batch", class: Safe, reason: wrapper},
		{class: Safe, reason: readOnly},
	}
	zips = []row{
		{with: "-l|--list|-t|--test|-c|--stdout", class: Safe, reason: readOnly},
		{class: Moderate, reason: mutating},
	}

	kubernetes = []row{
		{subs: "get/secret*", with: "-o|--output", class: Moderate, reason: secret},
		{subs: "get describe logs explain api-resources api-versions cluster-info top version " +
			"options events diff wait auth/can-i auth/whoami config/view config/get-contexts " +
			"config/get-clusters config/get-users config/current-context rollout/status " +
			"rollout/history plugin/list", class: Safe, reason: readOnly},
		{subs: "delete drain", class: Moderate, reason: deletes},
		{subs: "exec run debug attach", class: Moderate, reason: inCluster},
		{class: Moderate, reason: mutating},
	}
	containers = []row{
		{subs: "ps images inspect logs version info top stats port diff history search events " +
			"container/ls container/list container/ps container/inspect container/logs container/top " +
			"container/stats container/port container/diff image/ls image/list image/inspect " +
			"image/history network/ls network/inspect volume/ls volume/inspect system/df system/info " +
			"context/ls context/show context/inspect service/ls service/ps service/inspect service/logs node/ls node/ps " +
			"node/inspect stack/ls stack/ps stack/services secret/ls secret/inspect config/ls config/inspect plugin/ls buildx/ls buildx/inspect buildx/du " +
			"manifest/inspect compose/ps compose/logs compose/config compose/ls compose/images " +
			"compose/top compose/version compose/port", class: Safe, reason: readOnly},
		{subs: "run create exec container/run container/exec", with: "--privileged", class: High, reason: daemonRoot},
		{subs: "run exec container/run container/exec compose/run compose/exec", class: Moderate, reason: runsCode},
		{subs: "system/prune volume/rm volume/remove volume/prune image/prune container/prune",
			class: High, reason: destructive},
		{subs: "compose/down", with: "-v|--volumes", class: High, reason: destructive},
		{subs: "push image/push", class: Moderate, reason: sends},
		{class: Moderate, reason: mutating},
	}
	composes = []row{
		{subs: "ps logs config ls images top version port", class: Safe, reason: readOnly},
		{subs: "down", with: "-v|--volumes", class: High, reason: destructive},
		{subs: "run exec", class: Moderate, reason: runsCode},
		{class: Moderate, reason: mutating},
	}
	terraforms = []row{
		{subs: "version show output validate graph providers state/list state/show workspace/list workspace/show",
			class: Safe, reason: readOnly},
		{subs: "fmt", with: "-check", class: Safe, reason: readOnly},
		{subs: "destroy state/rm force-unlock", class: High, reason: destructive},
		{subs: "apply", class: High, reason: mutating},
		{class: Moderate, reason: mutating},
	}
	guests = []row{
		{subs: "status get list config pending showcmd listsnapshot cloudinit/dump", class: Safe, reason: readOnly},
		{subs: "destroy delete unlink rollback delsnapshot", class: High, reason: destructive},
		{class: Moderate, reason: mutating},
	}

	aptGets = []row{
		{subs: "list show search policy depends rdepends showsrc changelog", class: Safe, reason: readOnly},
		{subs: "install reinstall remove purge autoremove autopurge upgrade full-upgrade dist-upgrade build-dep",
			with: "-s|--simulate|--just-print|--dry-run|--recon|--no-act", class: Safe, reason: readOnly},
		{subs: "install reinstall build-dep", class: High, reason: installs},
		{subs: "remove purge autoremove autopurge", class: High, reason: removesPkg},
		{subs: "upgrade full-upgrade dist-upgrade", class: High, reason: installs},
		{class: Moderate, reason: mutating},
	}
	rpmTools = []row{
		{subs: "list info search repolist provides whatprovides repoquery check-update deplist history/list history/info",
			class: Safe, reason: readOnly},
		{subs: "install reinstall localinstall groupinstall update upgrade downgrade distro-sync", class: High, reason: installs},
		{subs: "remove erase autoremove groupremove", class: High, reason: removesPkg},
		{class: Moderate, reason: mutating},
	}
	pips = []row{
		{subs: "list show freeze check help inspect debug index/versions config/list config/get", class: Safe, reason: readOnly},
		{subs: "install", class: Moderate, reason: installs},
		{subs: "uninstall", class: Moderate, reason: removesPkg},
		{class: Moderate, reason: mutating},
	}
	nodeTools = []row{
		{subs: "ls list ll la view info show v outdated search ping whoami root prefix bin explain why " +
			"fund help licenses config/list config/get", class: Safe, reason: readOnly},
		{subs: "install i add ci update up upgrade install-test it link dedupe", class: Moderate, reason: installs},
		{subs: "uninstall un rm r remove prune", class: Moderate, reason: removesPkg},
		{subs: "publish unpublish deprecate dist-tag owner access token", class: High, reason: publishes},
		{subs: "audit", with: "+1", class: Moderate, reason: mutating},
		{subs: "audit", class: Safe, reason: readOnly},
		{subs: "run run-script test t tst start stop restart exec x dlx create init", class: Moderate, reason: runsCode},
		{class: Moderate, reason: runsCode},
	}

	// projectTools run code of the project whatever they are told: yarnPath of
	// .yarnrc.yml, .pnpmfile.cjs.
	projectTools = []row{
		{subs: "publish unpublish deprecate dist-tag owner access token npm/publish", class: High, reason: publishes},
		{subs: "install i add ci update up upgrade import link dedupe", class: Moderate, reason: installs},
		{subs: "uninstall un rm r remove prune", class: Moderate, reason: removesPkg},
		{class: Moderate, reason: runsCode},
	}
)

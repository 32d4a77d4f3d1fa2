// Keeps the page up to date. Without it the page works as well: links and forms are plain, and the
// browser refreshes now and then.
'use strict';
(() => {
  const sections = ['verdict', 'picture', 'members', 'detail', 'workloads', 'balance', 'timeline'];
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const feed = document.getElementById('feed');
  const feedText = document.getElementById('feed-text');
  const form = document.getElementById('search');
  let source, retry, offset = 0, beats = new Map(), typing, heard = 0, focusDetail = false;

  // morph makes one element like another and touches only what differs, so that focus, open
  // disclosures and selections survive.
  function morph(from, to) {
    for (const a of [...from.attributes]) {
      if (!to.hasAttribute(a.name) && a.name !== 'open') from.removeAttribute(a.name);
    }
    for (const a of to.attributes) {
      if (from.getAttribute(a.name) !== a.value) from.setAttribute(a.name, a.value);
    }
    if (from.hasAttribute('data-keep')) return;
    const keyed = new Map();
    for (const c of from.children) if (c.dataset.k) keyed.set(c.dataset.k, c);
    let at = from.firstChild;
    for (const want of [...to.childNodes]) {
      const key = want.nodeType === 1 && want.dataset.k;
      let have = at;
      if (key && keyed.has(key)) {
        have = keyed.get(key);
        if (have !== at) from.insertBefore(have, at);
      } else if (key || (have && have.nodeType === 1 && have.dataset.k)) {
        have = null;
      }
      if (have && have.nodeType === want.nodeType && have.nodeName === want.nodeName) {
        if (have.nodeType === 1) morph(have, want);
        else if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue;
        at = have.nextSibling;
      } else {
        from.insertBefore(want, at);
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  function show(id, html) {
    const from = document.getElementById(id);
    if (!sections.includes(id) || !from) return;
    const to = from.cloneNode(false);
    to.innerHTML = html;
    morph(from, to);
  }

  const say = (text) => { if (feedText.textContent !== text) feedText.textContent = text; };

  // age says the same as the server does.
  function age(ms) {
    const s = ms / 1000;
    if (s < 1) return '0 s';
    if (s < 120) return Math.floor(s) + ' s';
    if (s < 7200) return Math.floor(s / 60) + ' min';
    if (s < 172800) return Math.floor(s / 3600) + ' h';
    return Math.floor(s / 86400) + ' days';
  }

  const seconds = (ms) => ms < 120000 ? (ms / 1000).toFixed(1) + ' s' : age(ms);

  // tick writes the times that run by themselves.
  function tick() {
    const now = Date.now() + offset;
    for (const t of document.querySelectorAll('time[data-age]')) {
      const text = age(now - Date.parse(t.dateTime)) + (t.dataset.age ? ' ' + t.dataset.age : '');
      if (t.textContent !== text) t.textContent = text;
    }
    const local = performance.now();
    for (const [id, b] of beats) {
      const left = Math.max(b.left - (local - b.at), 0);
      const write = (kind, text) => {
        for (const e of document.querySelectorAll('[data-' + kind + '="' + CSS.escape(id) + '"]')) e.textContent = text;
      };
      write('left', seconds(left));
      write('beat', seconds(Math.max(b.of - left, 0)));
    }
    if (heard && local - heard > 5000) {
      feed.className = 'feed off';
      say('no answer from the page’s server');
    }
  }

  // shrink lets a time bar run down by itself until the next heartbeat is heard of.
  function shrink(bar, b) {
    const fill = bar.querySelector('.fill');
    const part = b.of ? Math.min(b.left / b.of, 1) : 0;
    bar.classList.toggle('low', part < 0.5);
    fill.setAttribute('width', '100');
    for (const a of fill.getAnimations()) a.cancel();
    if (still.matches) {
      fill.setAttribute('width', String(part * 100));
      return;
    }
    fill.animate([{transform: 'scaleX(' + part + ')'}, {transform: 'scaleX(0)'}], {duration: Math.max(b.left, 1), fill: 'forwards'});
  }

  function pulse(p) {
    offset = p.at - Date.now();
    heard = performance.now();
    beats = new Map(p.members.map((m) => [m.id, {left: m.left, of: m.of, at: heard}]));
    for (const bar of document.querySelectorAll('[data-ttl]')) {
      const b = beats.get(bar.dataset.ttl);
      if (b) shrink(bar, b);
    }
    const sentence = document.getElementById('sentence');
    if (p.failing && sentence && sentence.textContent !== p.verdict.text) sentence.textContent = p.verdict.text;
    feed.className = p.failing ? 'feed off' : 'feed on';
    say(p.failing ? 'the store does not answer' : 'live');
    tick();
  }

  function connect() {
    clearTimeout(retry);
    if (source) source.close();
    const query = new URLSearchParams(location.search);
    query.delete('done');
    query.delete('about');
    source = new EventSource('events?' + query);
    source.addEventListener('view', (e) => {
      for (const [id, html] of Object.entries(JSON.parse(e.data))) show(id, html);
      if (focusDetail) {
        focusDetail = false;
        const h = document.getElementById('detail-h');
        if (h) h.focus();
      }
      tick();
    });
    source.addEventListener('pulse', (e) => pulse(JSON.parse(e.data)));
    source.addEventListener('error', () => {
      feed.className = 'feed off';
      say('reconnecting');
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, 3000);
    });
  }

  // go shows another view without loading the page again.
  function go(url, keep) {
    const before = new URLSearchParams(location.search).get('w');
    history[keep ? 'replaceState' : 'pushState'](null, '', url);
    const after = new URLSearchParams(location.search).get('w');
    focusDetail = Boolean(after) && after !== before;
    fields();
    connect();
  }

  // fields makes the form say what is shown.
  function fields() {
    const query = new URLSearchParams(location.search);
    for (const name of ['q', 'state', 'sort', 'owner']) {
      const field = form.elements[name];
      if (field === document.activeElement) continue;
      field.value = query.get(name) || (name === 'sort' ? 'key' : '');
    }
  }

  function search() {
    clearTimeout(typing);
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value && !(name === 'sort' && value === 'key')) query.set(name, value);
    }
    go('./' + (query.size ? '?' + query : ''), true);
  }

  document.addEventListener('click', (e) => {
    const a = e.target.closest('a[href]');
    if (!a || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.target) return;
    const to = new URL(a.href);
    if (to.origin !== location.origin || to.pathname !== location.pathname || a.classList.contains('skip')) return;
    e.preventDefault();
    go(a.href);
    if (to.hash === '#workloads' && (a.rel || a.closest('#picture, #verdict, #members'))) {
      document.getElementById('workloads-h').scrollIntoView({block: 'start', behavior: still.matches ? 'auto' : 'smooth'});
    }
  });
  addEventListener('popstate', () => { fields(); connect(); });
  form.addEventListener('submit', (e) => { e.preventDefault(); search(); });
  form.addEventListener('change', search);
  form.addEventListener('input', (e) => {
    if (e.target.name !== 'q') return;
    clearTimeout(typing);
    typing = setTimeout(search, 200);
  });
  // A page that nobody sees needs no news.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source.close();
      heard = 0;
    } else {
      connect();
    }
  });
  setInterval(tick, 250);
  connect();
})();

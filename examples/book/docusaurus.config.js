// @ts-check
import remarkMath from 'remark-math';
import rehypeKatex from 'rehype-katex';

/** @type {import('@docusaurus/types').Config} */
const config = {
  title: 'Physical AI: A Field Guide to Humanoid Robots',
  tagline: 'Bodies, software and simulation for machines that share our space',
  url: 'https://bookbound.example',
  baseUrl: '/',
  trailingSlash: false,

  // The book has no landing page, so the navbar title points at a route ("/") that does not exist.
  onBrokenLinks: 'warn',
  onBrokenAnchors: 'warn',

  i18n: {
    defaultLocale: 'en',
    locales: ['en'],
  },

  markdown: {
    mermaid: true,
  },
  themes: ['@docusaurus/theme-mermaid'],

  presets: [
    [
      'classic',
      /** @type {import('@docusaurus/preset-classic').Options} */
      ({
        docs: {
          path: 'docs',
          routeBasePath: '/docs',
          sidebarPath: './sidebars.js',
          remarkPlugins: [remarkMath],
          rehypePlugins: [rehypeKatex],
        },
        blog: false,
      }),
    ],
  ],

  stylesheets: [
    {
      href: 'https://cdn.jsdelivr.net/npm/katex@0.16.11/dist/katex.min.css',
      type: 'text/css',
    },
  ],

  themeConfig:
    /** @type {import('@docusaurus/preset-classic').ThemeConfig} */
    ({
      navbar: {
        title: 'Physical AI',
        items: [
          {
            type: 'docSidebar',
            sidebarId: 'bookSidebar',
            position: 'left',
            label: 'Read the book',
          },
        ],
      },
      footer: {
        copyright: 'Copyright The Bookbound authors. Text and code under CC BY 4.0.',
      },
      prism: {
        additionalLanguages: ['bash', 'cmake', 'yaml'],
      },
    }),
};

export default config;
